(type_alias_declaration name: (_) @name) @definition.type
(type_declaration name: (_) @name) @definition.type
(type_annotation name: (_) @name) @definition.function
(value_declaration functionDeclarationLeft: (function_declaration_left . (lower_case_identifier) @name)) @definition.function
(port_annotation name: (_) @name) @definition.function
