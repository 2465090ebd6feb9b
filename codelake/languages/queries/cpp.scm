; Depth 1: everything hangs at the top, in a body or in a region, so a definition is met once.
(template_declaration [(function_definition) (class_specifier) (struct_specifier) (union_specifier) (alias_declaration) (declaration) (template_declaration)] @inner) @wrapper
(template_declaration) @region
(function_definition declarator: (function_declarator declarator: (_) @name parameters: (_) @parameters) body: (_)? @body) @definition.function
(function_definition declarator: (_ (function_declarator declarator: (_) @name parameters: (_) @parameters)) body: (_)? @body) @definition.function
(function_definition declarator: (_ (_ (function_declarator declarator: (_) @name parameters: (_) @parameters))) body: (_)? @body) @definition.function
(class_specifier name: (_) @name body: (_) @body) @definition.class
(struct_specifier name: (_) @name body: (_) @body) @definition.struct
(union_specifier name: (_) @name body: (_) @body) @definition.struct
(enum_specifier name: (_) @name body: (_) @body) @definition.enum
(declaration type: (class_specifier name: (_) @name body: (_) @body) @definition.class)
(declaration type: (struct_specifier name: (_) @name body: (_) @body) @definition.struct)
(declaration type: (enum_specifier name: (_) @name body: (_) @body) @definition.enum)
(field_declaration type: (class_specifier name: (_) @name body: (_) @body) @definition.class)
(field_declaration type: (struct_specifier name: (_) @name body: (_) @body) @definition.struct)
(field_declaration type: (union_specifier name: (_) @name body: (_) @body) @definition.struct)
(field_declaration type: (enum_specifier name: (_) @name body: (_) @body) @definition.enum)
(type_definition type: (struct_specifier name: (_) @name body: (_) @body) @definition.struct)
(type_definition type: (enum_specifier name: (_) @name body: (_) @body) @definition.enum)
(type_definition type: [(struct_specifier !name body: (_) @body) (union_specifier !name body: (_) @body)] declarator: (type_identifier) @name) @definition.struct
(type_definition type: (enum_specifier !name body: (_) @body) declarator: (type_identifier) @name) @definition.enum
(type_definition declarator: (type_identifier) @name) @definition.type
(alias_declaration name: (_) @name) @definition.type
(concept_definition name: (_) @name) @definition.interface
(access_specifier) @visibility
(namespace_definition name: (_) @name body: (_) @body) @space
(namespace_definition !name body: (_) @region)
(preproc_function_def name: (_) @name parameters: (_) @parameters) @definition.macro
(preproc_def name: (_) @name value: (_)) @definition.macro
(declaration (type_qualifier) declarator: (init_declarator declarator: (identifier) @name)) @definition.variable
[(preproc_ifdef) (preproc_if) (preproc_else) (preproc_elif) (linkage_specification body: (declaration_list)) (declaration_list)] @region
