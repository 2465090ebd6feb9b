#lang racket
(define max-items 10)
; Adds.
(define (add a b #:c [c 1])
  (+ a b))
(struct point (x y))
(define-syntax-rule (swap a b) a)
(module inner racket (define x 1))
