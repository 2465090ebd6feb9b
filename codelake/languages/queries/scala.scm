(trait_definition name: (_) @name body: (_)? @body) @definition.trait
(class_definition name: (_) @name body: (_)? @body) @definition.class
(object_definition name: (_) @name body: (_)? @body) @definition.class
(enum_definition name: (_) @name body: (_) @body) @definition.enum
(package_object name: (_) @name body: (_) @body) @definition.module
(package_clause name: (_) @name body: (_) @body) @space
(function_definition name: (_) @name parameters: (parameters)? @parameters body: (_)? @body) @definition.function
(function_declaration name: (_) @name parameters: (parameters)? @parameters) @definition.function
(type_definition name: (_) @name) @definition.type
(val_definition pattern: (identifier) @name) @definition.variable
(extension_definition body: (_) @region)
(given_definition name: (_) @name body: (_)? @body) @definition.class
