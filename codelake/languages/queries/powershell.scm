[(statement_list) (script_block) (script_block_body)] @region
(function_statement (function_name) @name (script_block) @body) @definition.function
(class_statement . (simple_name) @name) @definition.class
(enum_statement . (simple_name) @name) @definition.enum
(class_method_definition (simple_name) @name (class_method_parameter_list)? @parameters (script_block) @body) @definition.method
