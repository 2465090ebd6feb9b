(class_declaration declaration_kind: "class" name: (_) @name body: (_) @body) @definition.class
(class_declaration declaration_kind: "actor" name: (_) @name body: (_) @body) @definition.class
(class_declaration declaration_kind: "struct" name: (_) @name body: (_) @body) @definition.struct
(class_declaration declaration_kind: "enum" name: (_) @name body: (_) @body) @definition.enum
(class_declaration declaration_kind: "extension" name: (_) @name body: (_) @body) @scope
(protocol_declaration name: (_) @name body: (_) @body) @definition.interface
(function_declaration name: (simple_identifier) @name body: (_)? @body) @definition.function
(protocol_function_declaration name: (simple_identifier) @name) @definition.method
(init_declaration "init" @name body: (_)? @body) @definition.method
(deinit_declaration "deinit" @name body: (_) @body) @definition.method
(function_declaration "func" . name: _ @name body: (_)? @body) @definition.function
(subscript_declaration "subscript" @name (computed_property) @body) @definition.method
(typealias_declaration name: (type_identifier) @name) @definition.type
(associatedtype_declaration name: (_) @name) @definition.type
(property_declaration name: (pattern) @name computed_value: (_) @body) @definition.property
(protocol_property_declaration name: (pattern bound_identifier: (_) @name)) @definition.property
(source_file (property_declaration name: (pattern) @name) @definition.variable)
