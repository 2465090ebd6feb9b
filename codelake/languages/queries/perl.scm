(package_statement name: (_) @name !block . ";") @rest.module
(package_statement name: (package) @name (block) @body) @definition.module
(package_statement name: (package) @name) @rest.module
(subroutine_declaration_statement name: (_) @name (signature)? @parameters body: (_) @body) @definition.function
(use_statement module: (package) @keyword (list_expression . (autoquoted_bareword) @name) (#eq? @keyword "constant")) @definition.constant
