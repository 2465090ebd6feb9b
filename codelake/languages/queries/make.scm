(rule (targets . (word) @name) (#not-match? @name "^[.]")) @definition.target
(variable_assignment name: (_) @name) @definition.variable
(define_directive name: (_) @name) @definition.macro
[(conditional) (recipe)] @region
