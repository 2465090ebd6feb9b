(statement (create_table (object_reference) @name)) @definition.table
(statement (create_view (object_reference) @name)) @definition.table
(statement (create_materialized_view (object_reference) @name)) @definition.table
(statement (create_function (object_reference) @name (function_arguments)? @parameters (function_body)? @body)) @definition.function
(statement (create_type (object_reference) @name)) @definition.type
(statement (create_trigger (keyword_trigger) . (object_reference) @name)) @definition.function
(statement (create_schema (identifier) @name)) @definition.namespace
