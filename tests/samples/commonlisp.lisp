(defpackage :shop (:use :cl))
(in-package :shop)
(defparameter *max-items* 10)
;; Adds.
(defun add (a &optional (b 2) &key c)
  "Adds two."
  (+ a b))
(defmacro unless2 (test &body body) `(if ,test nil ,@body))
(defclass item () ((name :accessor name)))
(defmethod price ((i item)) 1)
(defgeneric area (shape))
(defstruct point x y)
