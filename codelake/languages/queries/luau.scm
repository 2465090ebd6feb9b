(type_definition name: (_) @name) @definition.type
(function_declaration name: (_) @name parameters: (_) @parameters body: (_)? @body) @definition.function
(assignment_statement (variable_list . name: (_) @name) (expression_list . value: (function_definition parameters: (_) @parameters body: (_)? @body))) @definition.function
(variable_declaration (assignment_statement (variable_list . name: (_) @name) (expression_list . value: (function_definition parameters: (_) @parameters body: (_)? @body)))) @definition.function
(chunk (variable_declaration (assignment_statement (variable_list . name: (identifier) @name))) @definition.variable)
