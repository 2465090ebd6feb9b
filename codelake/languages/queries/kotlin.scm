(class_declaration "interface" (type_identifier) @name (class_body)? @body) @definition.interface
(class_declaration "enum" (type_identifier) @name (enum_class_body) @body) @definition.enum
(class_declaration "class" (type_identifier) @name (enum_class_body) @body) @definition.enum
(class_declaration "class" (type_identifier) @name (class_body)? @body) @definition.class
(object_declaration (type_identifier) @name (class_body)? @body) @definition.class
(companion_object (type_identifier) @name (class_body) @body) @definition.class
(companion_object . (class_body) @region)
(companion_object "companion" "object" . (class_body) @region)
(function_declaration receiver: (_) @receiver (simple_identifier) @name (function_value_parameters) @parameters (function_body)? @body) @definition.function
(function_declaration (simple_identifier) @name (function_value_parameters) @parameters (function_body)? @body) @definition.function
(secondary_constructor "constructor" @name (function_value_parameters) @parameters) @definition.method
(type_alias (type_identifier) @name) @definition.type
(source_file (property_declaration (variable_declaration (simple_identifier) @name)) @definition.variable)
(property_declaration (variable_declaration (simple_identifier) @name) (getter) @body) @definition.property
