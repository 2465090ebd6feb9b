(module_definition name: (_) @name (block)? @body) @definition.module
(struct_definition (type_head [(identifier) @name (parametrized_type_expression . (identifier) @name) (binary_expression . [(identifier) @name (parametrized_type_expression . (identifier) @name)])])) @definition.struct
(abstract_definition (type_head [(identifier) @name (parametrized_type_expression . (identifier) @name) (binary_expression . [(identifier) @name (parametrized_type_expression . (identifier) @name)])])) @definition.type
(function_definition (signature [(call_expression . (_) @name) (typed_expression . (call_expression . (_) @name)) (where_expression . (call_expression . (_) @name)) (where_expression . (typed_expression . (call_expression . (_) @name)))]) (block)? @body) @definition.function
(macro_definition (signature (call_expression . (_) @name)) (block)? @body) @definition.macro
(assignment . [(call_expression . (_) @name) (where_expression . (call_expression . (_) @name)) (typed_expression . (call_expression . (_) @name))]) @definition.function
(const_statement (assignment . (identifier) @name)) @definition.constant
(_ (string_literal) @doc . (_) @inner)
