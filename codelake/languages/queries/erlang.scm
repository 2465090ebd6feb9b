(module_attribute name: (_) @name) @rest.module
(fun_decl clause: (function_clause name: (_) @name args: (_) @parameters body: (_) @body)) @definition.function
(spec fun: (_) @name) @definition.function
(record_decl name: (_) @name) @definition.struct
(type_alias name: (type_name name: (_) @name)) @definition.type
(opaque name: (type_name name: (_) @name)) @definition.type
(pp_define lhs: (macro_lhs name: (_) @name)) @definition.macro
