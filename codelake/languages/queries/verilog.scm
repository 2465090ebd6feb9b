(module_declaration (module_header (simple_identifier) @name)) @definition.module
(interface_declaration (interface_ansi_header (interface_identifier) @name)) @definition.interface
(package_declaration (package_identifier) @name) @definition.namespace
(class_declaration (class_identifier) @name) @definition.class
(function_body_declaration (function_identifier) @name) @definition.function
(task_body_declaration (task_identifier) @name) @definition.function
