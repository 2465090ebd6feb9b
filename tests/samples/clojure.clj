(ns shop.core
  (:require [clojure.string :as str]))

(def max-items 10)

;; Adds tax.
(defn add-tax
  "Returns the price with tax."
  [price & {:keys [rate]}]
  (* price rate))

(defn- helper [x] x)
(defmacro unless [test body] `(if (not ~test) ~body))
(defprotocol Priced (price [this]))
(defrecord Item [name price] Priced (price [_] price))
(defmulti area :shape)
(defmethod area :circle [c] 1)
