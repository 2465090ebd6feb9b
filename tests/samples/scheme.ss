(define max-items 10)
; Adds.
(define (add a b . rest)
  (define (inner x) x)
  (+ a b))
(define double (lambda (x) (* x 2)))
(define-syntax swap! (syntax-rules () ((_ a b) a)))
(define-record-type point (make-point x y) point? (x point-x))
