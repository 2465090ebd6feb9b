[(compilation_unit) (non_empty_declarative_part)] @region
(package_body name: (_) @name) @definition.module
(package_declaration name: (_) @name) @definition.module
(subprogram_body (function_specification name: (_) @name)) @definition.function
(subprogram_body (procedure_specification name: (_) @name)) @definition.function
(subprogram_declaration (function_specification name: (_) @name)) @definition.function
(subprogram_declaration (procedure_specification name: (_) @name)) @definition.function
(full_type_declaration . (identifier) @name) @definition.type
