(function_definition name: (_) @name parameters: (_) @parameters docstring: (_) @doc) @definition.function
(function_definition name: (_) @name parameters: (_) @parameters) @definition.function
(macro_definition name: (_) @name parameters: (_) @parameters) @definition.macro
(special_form "defconst" . (symbol) @name) @definition.constant
(special_form "defvar" . (symbol) @name) @definition.variable
(list . (symbol) @keyword . (symbol) @name (#any-of? @keyword "cl-defun" "defsubst" "cl-defmethod")) @definition.function
(list . (symbol) @keyword . (symbol) @name (#any-of? @keyword "defcustom" "defgroup" "defface")) @definition.variable
