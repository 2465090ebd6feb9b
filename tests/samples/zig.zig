const std = @import("std");

/// Largest number.
pub const max_items: u32 = 10;

/// An item.
pub const Item = struct {
    name: []const u8,
    price: u32 = 0,

    /// Builds an item.
    pub fn init(name: []const u8, comptime T: type, args: anytype) !Item {
        return Item{ .name = name };
    }

    const Inner = struct { fn go() void {} };
};

const Level = enum { low, high };
const Value = union(enum) { int: i64, none };
var counter: u32 = 0;

fn add(a: i32, b: i32) i32 {
    return a + b;
}

pub extern "c" fn printf(format: [*:0]const u8, ...) c_int;

test "adds" {
    try std.testing.expect(add(1, 2) == 3);
}
