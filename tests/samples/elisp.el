;;; shop.el --- x -*- lexical-binding: t -*-
(defvar shop-max 10 "Largest.")
(defconst shop-min 1)
;; Adds.
(defun shop-add (a &optional b)
  "Add A and B."
  (interactive)
  (+ a b))
(defmacro shop-when (test &rest body) nil)
(defcustom shop-name "x" "Name." :type 'string)
(cl-defun shop-find (id &key strict) nil)
