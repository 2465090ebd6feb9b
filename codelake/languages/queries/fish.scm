(function_definition name: (_) @name) @definition.function
[(if_statement)] @region
