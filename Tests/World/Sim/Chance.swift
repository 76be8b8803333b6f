import Sluice

/// The chance of a world: the same numbers in the same order for the same seed.
struct Chance: RandomNumberGenerator {
    private var source: SplitMix

    init(_ seed: UInt64) { source = SplitMix(seed: seed) }

    mutating func next() -> UInt64 { source.next() }

    /// A number from 0 up to, and without, a bound.
    mutating func below(_ bound: Int) -> Int {
        bound < 2 ? 0 : Int(next().multipliedFullWidth(by: UInt64(bound)).high)
    }

    /// Whether something of so many in a hundred happens.
    mutating func percent(_ share: Int) -> Bool { below(100) < share }
    mutating func pick<Element>(_ elements: [Element]) -> Element? {
        elements.isEmpty ? nil : elements[below(elements.count)]
    }
    /// Another chance that takes nothing from this one later.
    mutating func split() -> Chance { Chance(next()) }
}
