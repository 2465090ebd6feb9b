import gleam/io

/// An item.
pub type Item {
  Item(name: String, price: Int)
}

pub const max_items = 10

/// Builds one.
pub fn build(name: String, price p: Int) -> Item {
  Item(name, p)
}

type Name =
  String

@external(erlang, "a", "b")
fn native() -> Int
