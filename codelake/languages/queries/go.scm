(function_declaration name: (_) @name parameters: (_) @parameters body: (_)? @body) @definition.function
(method_declaration receiver: (_) @receiver name: (_) @name parameters: (_) @parameters body: (_)? @body) @definition.method
; In brackets each line is a definition; the first pattern that names one wins.
(type_declaration "(" (type_spec name: (_) @name type: (struct_type) @body) @definition.struct)
(type_declaration "(" (type_spec name: (_) @name type: (interface_type) @body) @definition.interface)
(type_declaration "(" (type_spec name: (_) @name type: [(type_identifier) (pointer_type) (map_type) (function_type) (slice_type) (array_type) (channel_type) (qualified_type) (generic_type) (parenthesized_type)]) @definition.type)
(const_declaration "(" (const_spec name: (_) @name) @definition.constant)
(type_declaration "type" . (type_spec name: (_) @name type: (struct_type) @body)) @definition.struct
(type_declaration "type" . (type_spec name: (_) @name type: (interface_type) @body)) @definition.interface
(type_declaration "type" . (type_spec name: (_) @name type: [(type_identifier) (pointer_type) (map_type) (function_type) (slice_type) (array_type) (channel_type) (qualified_type) (generic_type) (parenthesized_type)])) @definition.type
(type_declaration (type_alias name: (_) @name)) @definition.type
(method_elem name: (_) @name parameters: (_) @parameters) @definition.method
(const_declaration "const" . (const_spec name: (_) @name)) @definition.constant
(source_file (var_declaration "var" . (var_spec name: (_) @name)) @definition.variable)
(var_spec_list (var_spec name: (_) @name) @definition.variable)
