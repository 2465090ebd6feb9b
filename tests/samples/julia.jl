module Shop

export build

const MAX_ITEMS = 10

"""
An item.
"""
struct Item{T} <: Priced
    name::String
    price::T
end

mutable struct Cart
    items::Vector{Item}
    Cart() = new([])
end

abstract type Priced end

"Builds an item."
function build(name::String, price=0; strict::Bool=true, rest...)::Item
    helper(x) = x
    return Item(name, price)
end

# Total price.
total(items) = sum(i.price for i in items)

Base.show(io::IO, item::Item) = print(io, item.name)

function Base.length(c::Cart) where T
    return 0
end

macro twice(expr)
    return :($expr * 2)
end

end
