(namespace_definition name: (_) @name body: (_) @body) @space
(namespace_definition name: (_) @name !body) @rest.space
(class_declaration name: (_) @name body: (_) @body) @definition.class
(interface_declaration name: (_) @name body: (_) @body) @definition.interface
(trait_declaration name: (_) @name body: (_) @body) @definition.trait
(enum_declaration name: (_) @name body: (_) @body) @definition.enum
(method_declaration name: (_) @name parameters: (_) @parameters body: (_)? @body) @definition.method
(function_definition name: (_) @name parameters: (_) @parameters body: (_) @body) @definition.function
(const_declaration (const_element (name) @name)) @definition.constant
[(if_statement) (compound_statement) (colon_block)] @region
