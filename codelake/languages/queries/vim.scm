(function_definition (function_declaration name: (_) @name parameters: (_) @parameters) (body)? @body) @definition.function
(command_statement name: (_) @name) @definition.macro
[(if_statement)] @region
