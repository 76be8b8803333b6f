/// Acts on things, so that one whose effect another may have undone is not taken for certain.
struct Orders {
    private var begun: [String: Int] = [:]
    private var open: [String: Set<Int>] = [:]

    /// Begins an act on a thing; returns its number.
    mutating func begin(_ thing: String) -> Int {
        begun[thing, default: 0] += 1
        let number = begun[thing] ?? 0
        open[thing, default: []].insert(number)
        return number
    }

    /// Ends an act; returns whether it was alone from begin to end.
    ///
    /// One that never ends is never over.
    mutating func end(_ thing: String, _ number: Int) -> Bool {
        open[thing]?.remove(number)
        return begun[thing] == number && open[thing]?.isEmpty == true
    }
}
