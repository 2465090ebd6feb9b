(attribute_item) @decorator
(function_item name: (_) @name parameters: (_) @parameters body: (_) @body) @definition.function
(function_signature_item name: (_) @name parameters: (_) @parameters) @definition.function
(struct_item name: (_) @name body: (field_declaration_list)? @body) @definition.struct
(union_item name: (_) @name body: (_) @body) @definition.struct
(enum_item name: (_) @name body: (_) @body) @definition.enum
(trait_item name: (_) @name body: (_) @body) @definition.trait
(impl_item type: (_) @name body: (_) @body) @scope
(mod_item name: (_) @name body: (_) @body) @definition.module
(foreign_mod_item body: (_) @region)
(macro_definition name: (_) @name) @definition.macro
(type_item name: (_) @name) @definition.type
(associated_type name: (_) @name) @definition.type
(const_item name: (_) @name) @definition.constant
(static_item name: (_) @name) @definition.constant
