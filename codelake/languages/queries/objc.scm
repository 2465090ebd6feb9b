(class_interface . (identifier) @name) @definition.interface
(class_implementation . (identifier) @name !category) @definition.class
(class_implementation . (identifier) @name category: (_)) @scope
(protocol_declaration . (identifier) @name) @definition.interface
(implementation_definition (method_definition (method_type) . (identifier) @name (compound_statement) @body) @definition.method)
(method_declaration (method_type) . (identifier) @name) @definition.method
(function_definition declarator: (function_declarator declarator: (_) @name parameters: (_) @parameters) body: (_) @body) @definition.function
(function_definition declarator: (_ (function_declarator declarator: (_) @name parameters: (_) @parameters)) body: (_) @body) @definition.function
(struct_specifier name: (_) @name body: (_) @body) @definition.struct
(enum_specifier name: (_) @name body: (_) @body) @definition.enum
(type_definition type: [(struct_specifier !name body: (_) @body) (union_specifier !name body: (_) @body)] declarator: (type_identifier) @name) @definition.struct
(type_definition type: [(struct_specifier) (enum_specifier) (type_identifier) (primitive_type) (sized_type_specifier)] declarator: (type_identifier) @name) @definition.type
(preproc_function_def name: (_) @name parameters: (_) @parameters) @definition.macro
(preproc_def name: (_) @name value: (_)) @definition.macro
[(preproc_ifdef) (preproc_if) (preproc_else)] @region
