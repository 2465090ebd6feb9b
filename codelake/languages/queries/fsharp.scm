(named_module name: (_) @name) @rest.module
(namespace name: (_) @name) @rest.space
(module_defn (identifier) @name) @definition.module
(type_definition (record_type_defn (type_name type_name: (_) @name))) @definition.struct
(type_definition (union_type_defn (type_name type_name: (_) @name))) @definition.enum
(type_definition (anon_type_defn (type_name type_name: (_) @name) block: (_) @body)) @definition.class
(type_definition (_ (type_name type_name: (_) @name))) @definition.type
(function_or_value_defn (function_declaration_left . (identifier) @name)) @definition.function
(function_or_value_defn (value_declaration_left (identifier_pattern) @name)) @definition.variable
(member_defn (method_or_prop_defn name: (property_or_ident method: (_) @name))) @definition.method
(member_defn (method_or_prop_defn name: (property_or_ident !method (identifier) @name))) @definition.method
(declaration_expression (function_or_value_defn) @region)
