#if CommandLineTool
internal import Sluice

/// What the tool asks of queues, wherever they are.
extension Broker {
    /// Returns whether a queue that has actions matches.
    func hasQueues(matching pattern: QueuePattern) async throws -> Bool {
        try await !statuses(matching: pattern, limit: 1).isEmpty
    }

    /// Says that no queue that has actions matches any of the patterns, which may be a slip.
    ///
    /// - Parameter effect: What follows from it.
    /// - Returns: Whether none matches.
    @discardableResult
    func remarkIfNone(matches patterns: [QueuePattern], _ effect: String = "") async throws -> Bool {
        for pattern in patterns where try await hasQueues(matching: pattern) { return false }
        var words = patterns.prefix(Self.namedPatterns).map { "'\(Visible.text($0.rawValue))'" }
        if patterns.count > words.count { words.append("\(patterns.count - words.count) more") }
        let names = words.joined(separator: " or ")
        Terminal.remark(
            patterns.contains(.all)
                ? "no queue has actions" : "no queue that has actions matches \(names)\(effect)"
        )
        return true
    }

    /// How many patterns a remark names.
    private static let namedPatterns = 5

    /// Returns the processes that hold the write lock, as far as they are known.
    ///
    /// Errors of a server's locks name its process.
    func lockHolders() async -> [Int] {
        (try? await file?.health().lockHolders) ?? []
    }
}
#endif
