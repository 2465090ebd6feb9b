(entity_declaration name: (_) @name) @definition.interface
(architecture_body name: (_) @name) @definition.class
(package_declaration name: (_) @name) @definition.module
(function_body designator: (_) @name) @definition.function
