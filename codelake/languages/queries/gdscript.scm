(class_name_statement name: (_) @name) @rest.class
(class_definition name: (_) @name body: (_)? @body) @definition.class
(function_definition name: (_) @name parameters: (_) @parameters body: (_) @body) @definition.function
(enum_definition name: (_) @name body: (_) @body) @definition.enum
(const_statement name: (_) @name) @definition.constant
(signal_statement name: (_) @name) @definition.property
(variable_statement (annotations) name: (_) @name) @definition.property
