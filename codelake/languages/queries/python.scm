; Decorators stand beside the definition, in a wrapper that is the symbol's start.
(decorated_definition definition: (_) @inner) @wrapper
(function_definition name: (identifier) @name parameters: (_) @parameters body: (_) @body) @definition.function
(class_definition name: (identifier) @name body: (_) @body) @definition.class
(module (assignment left: (identifier) @name) @definition.variable)
(type_alias_statement left: (type) @name) @definition.type
; Definitions under conditions belong to the scope around.
[(if_statement) (else_clause) (elif_clause) (try_statement) (except_clause) (finally_clause) (with_statement) (for_statement) (while_statement)] @region
