(list . (symbol) @keyword . (list . (symbol) @name) (#any-of? @keyword "define" "define-public")) @definition.function
(list . (symbol) @keyword . (symbol) @name . (list . (symbol) @lambda) (#eq? @keyword "define") (#any-of? @lambda "lambda" "case-lambda")) @definition.function
(list . (symbol) @keyword . (symbol) @name (#any-of? @keyword "define" "define-public")) @definition.variable
(list . (symbol) @keyword . (symbol) @name (#eq? @keyword "define-syntax")) @definition.macro
(list . (symbol) @keyword . (symbol) @name (#eq? @keyword "define-record-type")) @definition.struct
