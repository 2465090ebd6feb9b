(class_declaration name: (_) @name body: (_) @body) @definition.class
(record_declaration name: (_) @name parameters: (_) @parameters body: (_) @body) @definition.class
(interface_declaration name: (_) @name body: (_) @body) @definition.interface
(annotation_type_declaration name: (_) @name body: (_) @body) @definition.interface
(enum_declaration name: (_) @name body: (_) @body) @definition.enum
(enum_body_declarations) @region
(method_declaration name: (_) @name parameters: (_) @parameters body: (_)? @body) @definition.method
(constructor_declaration name: (_) @name parameters: (_) @parameters body: (_) @body) @definition.method
(compact_constructor_declaration name: (_) @name body: (_) @body) @definition.method
(annotation_type_element_declaration name: (_) @name) @definition.method
(field_declaration declarator: (variable_declarator name: (_) @name)) @definition.variable
(constant_declaration declarator: (variable_declarator name: (_) @name)) @definition.constant
; Anonymous classes inside methods.
(object_creation_expression (class_body) @nested) @outer
