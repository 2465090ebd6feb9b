(function_declaration name: (_) @name parameters: (_) @parameters body: (_)? @body) @definition.function
(assignment_statement (variable_list . name: (_) @name) (expression_list . value: (function_definition parameters: (_) @parameters body: (_)? @body))) @definition.function
(variable_declaration (assignment_statement (variable_list . name: (_) @name) (expression_list . value: (function_definition parameters: (_) @parameters body: (_)? @body)))) @definition.function
(variable_declaration (assignment_statement (variable_list . name: (identifier) @name) (expression_list . value: (table_constructor) @region)))
(field name: (identifier) @name value: (function_definition parameters: (_) @parameters body: (_)? @body)) @definition.function
(chunk (assignment_statement (variable_list . name: (identifier) @name)) @definition.variable)
(chunk (variable_declaration (assignment_statement (variable_list . name: (identifier) @name))) @definition.variable)
[(if_statement) (do_statement)] @region
