(function_definition name: (_) @name body: (_) @body) @definition.function
(program (variable_assignment name: (variable_name) @name) @definition.variable)
(program (declaration_command (variable_assignment name: (variable_name) @name)) @definition.variable)
[(if_statement) (else_clause) (elif_clause) (case_statement) (case_item) (for_statement) (while_statement) (list)] @region
