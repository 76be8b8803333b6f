/// Whether a look is needed that has begun since one was needed last, and is over.
struct NeededLook {
    private(set) var isNeeded: Bool
    /// The number of the last one that was begun or asked for.
    private var last = 0

    init(isNeeded: Bool = false) { self.isNeeded = isNeeded }

    /// A look is needed, or begins: what earlier ones find is not all.
    ///
    /// - Returns: The number of the look that begins.
    @discardableResult
    mutating func need() -> Int {
        isNeeded = true
        last += 1
        return last
    }

    /// A look is over; of looks that overlap the last one counts.
    mutating func end(_ look: Int) { if look == last { isNeeded = false } }

    /// None is needed, whatever was needed before.
    mutating func forget() { isNeeded = false }
}
