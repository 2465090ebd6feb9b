(module (module_statement (name) @name)) @definition.module
(program (program_statement (name) @name)) @definition.module
(submodule (submodule_statement (name) @name)) @definition.module
(function (function_statement name: (_) @name parameters: (_)? @parameters)) @definition.function
(subroutine (subroutine_statement name: (_) @name parameters: (_)? @parameters)) @definition.function
(derived_type_definition (derived_type_statement (type_name) @name)) @definition.struct
(interface (interface_statement (name) @name)) @definition.interface
(internal_procedures) @region
