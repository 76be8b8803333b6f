#if CommandLineTool && GRDB
/// Stands for a server on a bad network: it is slow, often out of reach, and sometimes busy.
struct PretendedServer: Sendable {
    struct Unreachable: Error {}

    /// A real probe asks the server.
    var isReachable: Bool { get async { true } }

    /// - Returns: The header `Retry-After` of a server that is busy; `nil`: it has the message.
    func receive(_ text: String, key: String) async throws -> String? {
        try await Task.sleep(for: .milliseconds(.random(in: 2...20)))
        if Int.random(in: 1...10) <= 3 { throw Unreachable() }
        return Int.random(in: 1...100) == 1 ? "1" : nil
    }
}
#endif
