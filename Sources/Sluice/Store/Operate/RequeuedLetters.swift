/// What has become of dead letters that were to be put back.
package struct RequeuedLetters: Sendable {
    /// How many went back.
    package var count = 0
    /// How many stay what they are.
    package var keptCount = 0
    /// The first of those, and why.
    package var firstKept: (action: ActionID, reason: String)?

    mutating func add(_ other: RequeuedLetters) {
        count += other.count
        keptCount += other.keptCount
        firstKept = firstKept ?? other.firstKept
    }
}
