(model_block (identifier) @name) @definition.struct
(enum_block . (identifier) @name) @definition.enum
(key_value_block (identifier) @name) @definition.resource
