package struct RequeuedLetters: Sendable {
    package var count = 0
    /// The number that remain dead letters.
    package var keptCount = 0
    /// The first that remains, with the reason.
    package var firstKept: (action: ActionID, reason: String)?

    package init() {}

    package mutating func add(_ other: RequeuedLetters) {
        count += other.count
        keptCount += other.keptCount
        firstKept = firstKept ?? other.firstKept
    }
}
