[(declarations) (imports)] @region
(data_type name: (_) @name) @definition.type
(newtype name: (_) @name) @definition.type
(type_synomym name: (_) @name) @definition.type
(class name: (_) @name declarations: (_)? @body) @definition.trait
(instance name: (_) @name declarations: (_) @body) @scope
(signature name: (_) @name) @definition.function
(function name: (_) @name) @definition.function
(function (infix operator: (_) @name)) @definition.function
(bind name: (variable) @name) @definition.function
