(config_file (body) @region)
(block . (identifier) @keyword . (string_lit)+ @name (#any-of? @keyword "resource" "output" "provider")) @definition.resource
(block . (identifier) @keyword . (string_lit)+ @name (#eq? @keyword "data")) @definition.resource
(block . (identifier) @keyword . (string_lit) @name (#eq? @keyword "variable")) @definition.variable
(block . (identifier) @keyword . (string_lit) @name (#eq? @keyword "module")) @definition.module
(block . (identifier) @keyword . (string_lit)+ @name) @definition.resource
(block . (identifier) @keyword . (block_start) (body (attribute . (identifier) @name) @definition.variable) (#eq? @keyword "locals"))
