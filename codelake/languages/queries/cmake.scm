(function_def (function_command (argument_list . (argument) @name)) (body)? @body) @definition.function
(macro_def (macro_command (argument_list . (argument) @name)) (body)? @body) @definition.macro
(normal_command (identifier) @keyword (argument_list . (argument) @name) (#any-of? @keyword "add_executable" "add_library" "add_custom_target")) @definition.target
(source_file (normal_command (identifier) @keyword (argument_list . (argument) @name) (#any-of? @keyword "set" "option")) @definition.variable)
[(if_condition) (body)] @region
