(class name: (_) @name body: (_)? @body) @definition.class
(module name: (_) @name body: (_)? @body) @definition.module
(singleton_class body: (_) @region)
(method name: (_) @name parameters: (_)? @parameters body: (_)? @body) @definition.method
(singleton_method name: (_) @name parameters: (_)? @parameters body: (_)? @body) @definition.method
(assignment left: (constant) @name) @definition.constant
(call arguments: (argument_list [(method) (singleton_method)] @inner)) @wrapper
[(if) (unless) (begin)] @region
