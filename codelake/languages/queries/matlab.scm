(function_definition name: (_) @name (function_arguments)? @parameters (block)? @body) @definition.function
(class_definition name: (_) @name) @definition.class
(methods) @region
