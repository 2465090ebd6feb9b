(type_definition (type_binding name: (_) @name)) @definition.type
(exception_definition (constructor_declaration (constructor_name) @name)) @definition.type
(module_type_definition (module_type_name) @name body: (_)? @body) @definition.interface
(external (value_name) @name) @definition.function
(value_specification (value_name) @name) @definition.function
(module_definition (module_binding (module_name) @name module_type: (_)? @body)) @definition.module
