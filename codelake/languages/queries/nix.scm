(binding attrpath: (_) @name expression: (function_expression)) @definition.function
(source_code expression: (_) @region)
[(let_expression) (attrset_expression) (rec_attrset_expression) (function_expression) (with_expression) (binding_set)] @region
