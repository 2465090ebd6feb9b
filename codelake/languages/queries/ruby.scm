(class name: (_) @name body: (_)? @body) @definition.class
(module name: (_) @name body: (_)? @body) @definition.module
(singleton_class body: (_) @region)
(method name: (_) @name parameters: (_)? @parameters body: (_)? @body) @definition.method
(singleton_method name: (_) @name parameters: (_)? @parameters body: (_)? @body) @definition.method
(assignment left: (constant) @name) @definition.constant
(call arguments: (argument_list [(method) (singleton_method)] @inner)) @wrapper
(call arguments: (argument_list (method name: (_) @name parameters: (_)? @parameters body: (_)? @body) @definition.method))
(call arguments: (argument_list (singleton_method name: (_) @name parameters: (_)? @parameters body: (_)? @body) @definition.method))
(call method: (identifier) @keyword arguments: (argument_list . (simple_symbol) @name) (#any-of? @keyword "define_method" "alias_method")) @definition.method
(call method: (identifier) @keyword arguments: (argument_list (simple_symbol) @name) (#any-of? @keyword "attr_reader" "attr_writer" "attr_accessor")) @definition.property
(class body: (body_statement (identifier) @visibility) (#any-of? @visibility "private" "protected" "public"))
(module body: (body_statement (identifier) @visibility) (#any-of? @visibility "private" "protected" "public"))
(singleton_class ["class" "end"] @visibility)
[(if) (unless) (begin)] @region
