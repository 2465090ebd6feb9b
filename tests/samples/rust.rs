//! Shapes and their areas.

use std::fmt;

/// Largest radius.
pub const MAX_RADIUS: f64 = 10.0;
static mut COUNT: u32 = 0;

/// A circle.
#[derive(Debug, Clone)]
pub struct Circle<T> {
    radius: T,
}

pub enum Kind { Round, Square(u8) }

pub trait Area: fmt::Debug {
    type Unit;
    const SIDES: u8 = 0;
    /// Computes it.
    fn area(&self) -> f64;
    fn name(&self) -> String { String::from("area") }
}

impl<T: Into<f64> + Copy> Area for Circle<T> {
    type Unit = f64;

    #[inline]
    // Not a doc of the attribute.
    fn area(&self) -> f64
    where
        T: Copy,
    {
        fn square(x: f64) -> f64 { x * x }
        square(self.radius.into())
    }
}

impl<T> Circle<T> {
    pub(crate) async unsafe fn new(radius: T, names: &'static [(&str, u8)]) -> Result<Self, Box<dyn Fn(u8)>> { todo!() }
}

macro_rules! circle {
    ($r:expr) => { Circle { radius: $r } };
}

pub mod inner {
    pub type Pair = (u8, u8);
    #[cfg(test)]
    #[test]
    fn works() {}
    extern "C" { fn c_area(r: f64) -> f64; }
}

union Bits { a: u32, b: f32 }
