module Shop.Items

/// An item.
type Item = { Name: string; Price: int }
type Level = Low | High

/// Builds an item.
let build name price : Item =
    let helper x = x
    { Name = name; Price = helper price }

let maxItems = 10

type Cart(owner: string) =
    member this.Owner = owner
    member this.Add(item: Item, ?count: int) = ()
    static member Empty = Cart("x")

module Inner =
    let go () = ()
