(attribute) @decorator
(type_definition (type_name name: (_) @name)) @definition.type
(type_alias (type_name name: (_) @name)) @definition.type
(constant name: (_) @name) @definition.constant
(function name: (_) @name parameters: (_) @parameters body: (_)? @body) @definition.function
