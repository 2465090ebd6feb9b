(list . (symbol) @keyword . (list . (symbol) @name) (#any-of? @keyword "define" "define/public" "define/contract")) @definition.function
(list . (symbol) @keyword . (symbol) @name (#eq? @keyword "define")) @definition.variable
(list . (symbol) @keyword . (list . (symbol) @name) (#eq? @keyword "define-syntax-rule")) @definition.macro
(list . (symbol) @keyword . (symbol) @name (#eq? @keyword "define-syntax")) @definition.macro
(list . (symbol) @keyword . (symbol) @name (#any-of? @keyword "struct" "define-struct")) @definition.struct
(list . (symbol) @keyword . (symbol) @name (#any-of? @keyword "module" "module+" "module*")) @definition.module
