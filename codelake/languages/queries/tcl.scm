(procedure name: (_) @name arguments: (_) @parameters body: (_) @body) @definition.function
(namespace (word_list . (simple_word) @keyword . (simple_word) @name (braced_word) @body) (#eq? @keyword "eval")) @definition.namespace
