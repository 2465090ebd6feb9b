(function_definition name: (identifier) @name parameters: (_) @parameters body: (_) @body) @definition.function
(module (expression_statement (assignment left: (identifier) @name)) @definition.variable)
