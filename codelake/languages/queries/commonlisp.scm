(list_lit (defun (defun_header keyword: (defun_keyword) @keyword function_name: (_) @name lambda_list: (_)? @parameters) . value: (str_lit) @doc . value: (_)) (#not-eq? @keyword "defmacro")) @definition.function
(list_lit (defun (defun_header keyword: (defun_keyword) @keyword function_name: (_) @name lambda_list: (_)? @parameters)) (#not-eq? @keyword "defmacro")) @definition.function
(list_lit (defun (defun_header function_name: (_) @name lambda_list: (_)? @parameters))) @definition.macro
(list_lit . value: (sym_lit) @keyword . value: (sym_lit) @name (#any-of? @keyword "defclass" "define-condition")) @definition.class
(list_lit . value: (sym_lit) @keyword . value: (sym_lit) @name (#eq? @keyword "defstruct")) @definition.struct
(list_lit . value: (sym_lit) @keyword . value: (sym_lit) @name (#any-of? @keyword "defparameter" "defvar")) @definition.variable
(list_lit . value: (sym_lit) @keyword . value: (sym_lit) @name (#eq? @keyword "defconstant")) @definition.constant
