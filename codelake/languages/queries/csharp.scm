(namespace_declaration name: (_) @name body: (_) @body) @space
(file_scoped_namespace_declaration name: (_) @name) @rest.space
(class_declaration name: (_) @name body: (_)? @body) @definition.class
(record_declaration "struct" name: (_) @name body: (_)? @body) @definition.struct
(record_declaration name: (_) @name body: (_)? @body) @definition.class
(struct_declaration name: (_) @name body: (_)? @body) @definition.struct
(interface_declaration name: (_) @name body: (_)? @body) @definition.interface
(enum_declaration name: (_) @name body: (_)? @body) @definition.enum
(delegate_declaration name: (_) @name parameters: (_) @parameters) @definition.type
(method_declaration name: (_) @name parameters: (_) @parameters body: (_)? @body) @definition.method
(constructor_declaration name: (_) @name parameters: (_) @parameters body: (_)? @body) @definition.method
(destructor_declaration "~" @name name: (_) @name parameters: (_) @parameters body: (_)? @body) @definition.method
(operator_declaration "operator" @name . _ @name parameters: (_) @parameters body: (_)? @body) @definition.method
(conversion_operator_declaration "operator" @name type: (_) @name parameters: (_) @parameters body: (_)? @body) @definition.method
(indexer_declaration "this" @name parameters: (_) @parameters [accessors: (_) value: (_) body: (_)]? @body) @definition.property
(event_field_declaration (variable_declaration (variable_declarator name: (_) @name))) @definition.property
(local_function_statement name: (_) @name parameters: (_) @parameters body: (_)? @body) @definition.function
(property_declaration name: (_) @name accessors: (_)? @body) @definition.property
(event_declaration name: (_) @name) @definition.property
(field_declaration (modifier) @const (variable_declaration (variable_declarator . (identifier) @name)) (#eq? @const "const")) @definition.constant
[(preproc_if) (preproc_else)] @region
