(module_def) @region
(struct_declaration (identifier) @name (aggregate_body)? @body) @definition.struct
(union_declaration (identifier) @name (aggregate_body)? @body) @definition.struct
(class_declaration (identifier) @name (aggregate_body)? @body) @definition.class
(interface_declaration (identifier) @name (aggregate_body)? @body) @definition.interface
(enum_declaration (identifier) @name) @definition.enum
(template_declaration (identifier) @name) @definition.macro
(alias_declaration (alias_initializer (identifier) @name)) @definition.type
(function_declaration (identifier) @name (parameters) @parameters (function_body)? @body) @definition.function
(constructor . (this) @name (parameters)? @parameters (function_body)? @body) @definition.method
(destructor (this) @name) @definition.method
