(export_statement declaration: (_) @inner) @wrapper
(function_declaration name: (_) @name parameters: (_) @parameters body: (_) @body) @definition.function
(generator_function_declaration name: (_) @name parameters: (_) @parameters body: (_) @body) @definition.function
(class_declaration name: (_) @name body: (_) @body) @definition.class
(method_definition name: [(property_identifier) (private_property_identifier) (string)] @name parameters: (_) @parameters body: (_) @body) @definition.method
(field_definition property: [(property_identifier) (private_property_identifier)] @name value: [
  (arrow_function [parameters: (_) parameter: (_)] @parameters body: (_) @body)
  (function_expression parameters: (_) @parameters body: (_) @body)]) @definition.method
(lexical_declaration (variable_declarator name: (identifier) @name value: [
  (arrow_function [parameters: (_) parameter: (_)] @parameters body: (_) @body)
  (function_expression parameters: (_) @parameters body: (_) @body)
  (generator_function parameters: (_) @parameters body: (_) @body)])) @definition.function
(variable_declaration (variable_declarator name: (identifier) @name value: [
  (arrow_function [parameters: (_) parameter: (_)] @parameters body: (_) @body)
  (function_expression parameters: (_) @parameters body: (_) @body)])) @definition.function
(lexical_declaration (variable_declarator name: (identifier) @name value: (class body: (_) @body))) @definition.class
(export_statement "default" @name value: [
  (arrow_function [parameters: (_) parameter: (_)] @parameters body: (_) @body)
  (function_expression parameters: (_) @parameters body: (_) @body)
  (generator_function parameters: (_) @parameters body: (_) @body)]) @definition.function
(export_statement "default" @name value: (class body: (_) @body)) @definition.class
(export_statement value: (object) @region)
; CommonJS and prototype methods.
(expression_statement (assignment_expression left: [(identifier) (member_expression)] @name right: [
  (arrow_function [parameters: (_) parameter: (_)] @parameters body: (_) @body)
  (function_expression parameters: (_) @parameters body: (_) @body)
  (generator_function parameters: (_) @parameters body: (_) @body)])) @definition.function
(expression_statement (assignment_expression left: [(identifier) (member_expression)] @name right: (class body: (_) @body))) @definition.class
(expression_statement (assignment_expression right: (object) @region))
(pair key: (property_identifier) @name value: [
  (arrow_function [parameters: (_) parameter: (_)] @parameters body: (_) @body)
  (function_expression parameters: (_) @parameters body: (_) @body)]) @definition.method
(pair value: (object) @region)
(lexical_declaration kind: "const" (variable_declarator name: (identifier) @name value: (object) @body)) @definition.constant
(lexical_declaration kind: "const" (variable_declarator name: (identifier) @name value: [
  (string) (template_string) (number) (true) (false) (null) (undefined) (regex) (array) (identifier) (member_expression) (subscript_expression) (call_expression) (new_expression) (await_expression) (unary_expression) (binary_expression) (ternary_expression)])) @definition.constant
[(if_statement) (else_clause) (try_statement)] @region
(program (statement_block) @region)
; Whole programs inside one call: (function () { ... })(), define(function () { ... }).
(expression_statement [(call_expression) (parenthesized_expression) (unary_expression)] @block)
