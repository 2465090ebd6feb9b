(binary_operator lhs: [(identifier) (string)] @name rhs: (function_definition parameters: (_) @parameters body: (_) @body)) @definition.function
(program (binary_operator lhs: (identifier) @name) @definition.variable)
(call function: (identifier) @keyword arguments: (arguments . argument: (argument value: (string) @name)) (#any-of? @keyword "setClass" "setRefClass" "R6Class")) @definition.class
(call function: (identifier) @keyword arguments: (arguments . argument: (argument value: (string) @name)) (#any-of? @keyword "setMethod" "setGeneric" "setValidity")) @definition.method
[(if_statement) (braced_expression)] @region
