(contract_declaration name: (_) @name body: (_) @body) @definition.class
(interface_declaration name: (_) @name body: (_) @body) @definition.interface
(library_declaration name: (_) @name body: (_) @body) @definition.module
(struct_declaration name: (_) @name body: (_) @body) @definition.struct
(enum_declaration name: (_) @name body: (_) @body) @definition.enum
(event_definition name: (_) @name) @definition.type
(error_declaration name: (_) @name) @definition.type
(modifier_definition name: (_) @name body: (_)? @body) @definition.function
(constructor_definition "constructor" @name body: (_) @body) @definition.method
(fallback_receive_definition ["receive" "fallback"] @name body: (_)? @body) @definition.method
(function_definition name: (_) @name body: (_)? @body) @definition.function
(state_variable_declaration name: (_) @name) @definition.variable
(constant_variable_declaration name: (_) @name) @definition.constant
