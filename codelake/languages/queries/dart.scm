(class_definition name: (_) @name body: (_) @body) @definition.class
(mixin_declaration "mixin" . (identifier) @name (class_body) @body) @definition.trait
(mixin_declaration (mixin) . (identifier) @name (class_body) @body) @definition.trait
(extension_declaration name: (_) @name body: (_) @body) @definition.class
(enum_declaration name: (_) @name body: (_) @body) @definition.enum
(type_alias . (type_identifier) @name) @definition.type
(program (function_signature name: (_) @name) @definition.function . (function_body) @body @end)
(_ (method_signature (function_signature name: (_) @name)) @definition.method . (function_body) @body @end)
(_ (method_signature (operator_signature (binary_operator) @name)) @definition.method . (function_body) @body @end)
(_ (method_signature (getter_signature name: (_) @name)) @definition.method . (function_body) @body @end)
(_ (method_signature (setter_signature name: (_) @name)) @definition.method . (function_body) @body @end)
(_ (method_signature (factory_constructor_signature (identifier) @name . (formal_parameter_list))) @definition.method . (function_body) @body @end)
(_ (method_signature (constructor_signature name: (identifier) @name . parameters: (_))) @definition.method . (function_body) @body @end)
(declaration (function_signature name: (_) @name)) @definition.method
(declaration (getter_signature name: (_) @name)) @definition.method
(declaration (setter_signature name: (_) @name)) @definition.method
(declaration (constructor_signature name: (identifier) @name . parameters: (_))) @definition.method
(annotation) @decorator
(program (static_final_declaration_list (static_final_declaration . (identifier) @name)) @definition.constant)
