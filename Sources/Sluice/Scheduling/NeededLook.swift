/// Tracks whether a poll is needed: one that began after the last need, and has ended, satisfies it.
struct NeededLook {
    private(set) var isNeeded: Bool
    /// The number of the last poll that was begun or needed.
    private var last = 0

    init(isNeeded: Bool) { self.isNeeded = isNeeded }

    /// Records that a poll is needed or begins, which earlier ones do not satisfy; returns its number.
    @discardableResult
    mutating func need() -> Int {
        isNeeded = true
        last += 1
        return last
    }

    /// Ends a poll; of several that overlap, the last one counts.
    mutating func end(_ look: Int) { if look == last { isNeeded = false } }
}
