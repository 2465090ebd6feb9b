; Depth 1: everything hangs at the top or in a region, so a definition is met once.
(function_definition declarator: (function_declarator declarator: (_) @name parameters: (_) @parameters) body: (_) @body) @definition.function
(function_definition declarator: (_ (function_declarator declarator: (_) @name parameters: (_) @parameters)) body: (_) @body) @definition.function
(function_definition declarator: (_ (_ (function_declarator declarator: (_) @name parameters: (_) @parameters))) body: (_) @body) @definition.function
(struct_specifier name: (_) @name body: (_) @body) @definition.struct
(union_specifier name: (_) @name body: (_) @body) @definition.struct
(enum_specifier name: (_) @name body: (_) @body) @definition.enum
(declaration type: (struct_specifier name: (_) @name body: (_) @body) @definition.struct)
(declaration type: (union_specifier name: (_) @name body: (_) @body) @definition.struct)
(declaration type: (enum_specifier name: (_) @name body: (_) @body) @definition.enum)
(type_definition type: (struct_specifier name: (_) @name body: (_) @body) @definition.struct)
(type_definition type: (union_specifier name: (_) @name body: (_) @body) @definition.struct)
(type_definition type: (enum_specifier name: (_) @name body: (_) @body) @definition.enum)
(field_declaration type: (struct_specifier name: (_) @name body: (_) @body) @definition.struct)
(field_declaration type: (union_specifier name: (_) @name body: (_) @body) @definition.struct)
(field_declaration type: (enum_specifier name: (_) @name body: (_) @body) @definition.enum)
(type_definition type: [(struct_specifier !name body: (_) @body) (union_specifier !name body: (_) @body)] declarator: (type_identifier) @name) @definition.struct
(type_definition type: (enum_specifier !name body: (_) @body) declarator: (type_identifier) @name) @definition.enum
(type_definition declarator: (type_identifier) @name) @definition.type
(type_definition declarator: (pointer_declarator declarator: (type_identifier) @name)) @definition.type
(type_definition declarator: (function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: (type_identifier) @name)))) @definition.type
(preproc_function_def name: (_) @name parameters: (_) @parameters) @definition.macro
(preproc_def name: (_) @name value: (_)) @definition.macro
[(preproc_ifdef) (preproc_if) (preproc_else) (preproc_elif) (linkage_specification body: (declaration_list)) (declaration_list)] @region
