#if CommandLineTool && GRDB
/// Stands for a server on a bad network: it is slow, and often takes nothing.
struct PretendedServer: Sendable {
    struct Unreachable: Error {}

    func receive(_ text: String, key: String) async throws {
        try await Task.sleep(for: .milliseconds(.random(in: 2...20)))
        if Int.random(in: 1...10) <= 3 { throw Unreachable() }
    }
}
#endif
