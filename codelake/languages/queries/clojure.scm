(list_lit . value: (sym_lit) @keyword . value: (sym_lit) @name (#eq? @keyword "ns")) @rest.space
(list_lit . value: (sym_lit) @keyword . value: (sym_lit name: (_) @name) . value: (str_lit) @doc (#any-of? @keyword "defn" "defn-")) @definition.function
(list_lit . value: (sym_lit) @keyword . value: (sym_lit name: (_) @name) (#any-of? @keyword "defn" "defn-" "defmulti" "defmethod")) @definition.function
(list_lit . value: (sym_lit) @keyword . value: (sym_lit name: (_) @name) (#eq? @keyword "defmacro")) @definition.macro
(list_lit . value: (sym_lit) @keyword . value: (sym_lit name: (_) @name) (#any-of? @keyword "defprotocol" "definterface")) @definition.interface
(list_lit . value: (sym_lit) @keyword . value: (sym_lit name: (_) @name) (#any-of? @keyword "defrecord" "deftype")) @definition.struct
(list_lit . value: (sym_lit) @keyword . value: (sym_lit name: (_) @name) (#any-of? @keyword "def" "defonce")) @definition.variable
