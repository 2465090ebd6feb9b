(export_statement declaration: (_) @inner) @wrapper
(ambient_declaration (_) @inner) @wrapper
(decorator) @decorator
(function_declaration name: (_) @name parameters: (_) @parameters body: (_) @body) @definition.function
(function_signature name: (_) @name parameters: (_) @parameters) @definition.function
(generator_function_declaration name: (_) @name parameters: (_) @parameters body: (_) @body) @definition.function
(class_declaration name: (_) @name body: (_) @body) @definition.class
(abstract_class_declaration name: (_) @name body: (_) @body) @definition.class
(interface_declaration name: (_) @name body: (_) @body) @definition.interface
(enum_declaration name: (_) @name body: (_) @body) @definition.enum
(type_alias_declaration name: (_) @name) @definition.type
(internal_module name: (_) @name body: (_) @body) @definition.namespace
(module name: (_) @name body: (_) @body) @definition.namespace
(expression_statement (internal_module) @inner) @wrapper
(method_definition name: [(property_identifier) (private_property_identifier) (string)] @name parameters: (_) @parameters body: (_) @body) @definition.method
(method_signature name: [(property_identifier) (string)] @name parameters: (_) @parameters) @definition.method
(abstract_method_signature name: [(property_identifier) (string)] @name parameters: (_) @parameters) @definition.method
(public_field_definition name: [(property_identifier) (private_property_identifier)] @name value: [
  (arrow_function [parameters: (_) parameter: (_)] @parameters body: (_) @body)
  (function_expression parameters: (_) @parameters body: (_) @body)]) @definition.method
(lexical_declaration (variable_declarator name: (identifier) @name value: [
  (arrow_function [parameters: (_) parameter: (_)] @parameters body: (_) @body)
  (function_expression parameters: (_) @parameters body: (_) @body)
  (generator_function parameters: (_) @parameters body: (_) @body)])) @definition.function
(lexical_declaration (variable_declarator name: (identifier) @name value: (class body: (_) @body))) @definition.class
(export_statement "default" @name value: [
  (arrow_function [parameters: (_) parameter: (_)] @parameters body: (_) @body)
  (function_expression parameters: (_) @parameters body: (_) @body)
  (generator_function parameters: (_) @parameters body: (_) @body)]) @definition.function
(export_statement "default" @name value: (class body: (_) @body)) @definition.class
(export_statement value: (object) @region)
(expression_statement (assignment_expression left: [(identifier) (member_expression)] @name right: [
  (arrow_function [parameters: (_) parameter: (_)] @parameters body: (_) @body)
  (function_expression parameters: (_) @parameters body: (_) @body)])) @definition.function
(pair key: (property_identifier) @name value: [
  (arrow_function [parameters: (_) parameter: (_)] @parameters body: (_) @body)
  (function_expression parameters: (_) @parameters body: (_) @body)]) @definition.method
(pair value: (object) @region)
(lexical_declaration kind: "const" (variable_declarator name: (identifier) @name value: (object) @body)) @definition.constant
(lexical_declaration kind: "const" (variable_declarator name: (identifier) @name value: (_))) @definition.constant
[(if_statement) (else_clause) (try_statement)] @region
(program (statement_block) @region)
(expression_statement [(call_expression) (parenthesized_expression) (unary_expression)] @block)
