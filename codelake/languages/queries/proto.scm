(package (full_ident) @name) @rest.space
(message (message_name) @name (message_body) @body) @definition.struct
(enum (enum_name) @name (enum_body) @body) @definition.enum
(service (service_name) @name) @definition.interface
(rpc (rpc_name) @name) @definition.method
