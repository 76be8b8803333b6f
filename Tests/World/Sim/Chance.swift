/// The chance of a world: the same numbers in the same order for the same seed (SplitMix64).
struct Chance: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var bits = state
        bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
        return bits ^ (bits >> 31)
    }

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
