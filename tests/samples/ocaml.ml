(** Items of the shop. *)
open Printf

type item = { name : string; mutable price : int }
type level = Low | High of int
exception Not_found_item of string

(** Largest price. *)
let max_price = 100

(** Builds an item. *)
let build ?(price = 0) ~name x =
  let helper y = y in
  { name; price = helper price }

let rec fact n = if n = 0 then 1 else n * fact (n - 1)
and other n = n

module Shop = struct
  let find id = id
  module Inner = struct let go () = () end
end

module type PRICED = sig
  type t
  val price : t -> int
end

module Make (P : PRICED) = struct let total = P.price end

class counter init = object (self)
  val mutable n = init
  method incr by = n <- n + by
end

external c_add : int -> int -> int = "c_add"
let () = printf "x"
