import Foundation

/// Something that has an area.
public protocol Shape: AnyObject {
    associatedtype Unit
    var area: Double { get }
    func scale(by factor: Double) -> Self
}

let maxCount = 10

@available(iOS 13, *)
public final class Circle<T: Numeric>: Shape {
    private var radius: T
    static let unit = 1
    public init(radius: T) { self.radius = radius }
    deinit { }

    /// The area.
    var area: Double { return 1 }

    @discardableResult
    func scale(by factor: Double, _ rest: Int..., done: @escaping (Int) -> Void = { _ in }) async throws -> Self {
        func helper(_ a: Int) -> Int { return a }
        return self
    }
    subscript(index: Int) -> Int { return index }
    class func make() -> Circle { fatalError() }
}

struct Point { var x = 0; mutating func move(dx: Int) { x += dx } }
enum Direction: String { case north, south; func opposite() -> Direction { .south } }
extension Point: CustomStringConvertible {
    var description: String { "p" }
}
typealias Handler = (Int) -> Void
func < (lhs: Point, rhs: Point) -> Bool { lhs.x < rhs.x }
actor Counter { func increment() {} }
