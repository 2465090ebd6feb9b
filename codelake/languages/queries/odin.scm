(struct_declaration . (identifier) @name) @definition.struct
(enum_declaration . (identifier) @name) @definition.enum
(union_declaration . (identifier) @name) @definition.struct
(const_declaration . (identifier) @name) @definition.constant
(procedure_declaration . (identifier) @name (procedure (parameters) @parameters (block)? @body)) @definition.function
