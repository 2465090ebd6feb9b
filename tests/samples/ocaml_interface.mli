(** Builds an item. *)
val build : ?price:int -> name:string -> int -> item

type item = { name : string }
module Shop : sig
  val find : int -> int
end
module type PRICED = sig type t end
exception Failed of string
