internal import Dispatch
internal import SQLite
internal import Synchronization

/// A connection that reads, on a thread of its own, opened when it is first needed.
///
/// A read sees one snapshot and holds nobody up; in WAL mode a long one keeps the log from beginning anew.
final class Reader: Sendable {
    private let file: DatabaseFile
    private let path: String
    private let queue = DispatchQueue(label: "sluice.reader", qos: .utility)
    /// Confined to `queue`.
    private nonisolated(unsafe) var connection: Connection?
    /// Confined to `queue`.
    private nonisolated(unsafe) var isClosed = false

    init(_ file: DatabaseFile, _ path: String) {
        self.file = file
        self.path = path
    }

    func read<Output: Sendable>(
        _ body: @escaping @Sendable (Connection) throws -> Output
    ) async throws(SluiceError) -> Output {
        try await perform { connection in try connection.snapshot { try body(connection) } }
    }

    func close() async {
        await withCheckedContinuation { continuation in
            queue.async {
                self.connection?.close()
                self.connection = nil
                self.isClosed = true
                continuation.resume()
            }
        }
    }

    private func perform<Output: Sendable>(
        _ body: @escaping @Sendable (Connection) throws -> Output
    ) async throws(SluiceError) -> Output {
        try await withCheckedContinuation { continuation in
            queue.async {
                continuation.resume(
                    returning: Result { try body(self.opened()) }
                        .mapError { SluiceError(wrapping: $0, doing: "reading \(self.path)") }
                )
            }
        }.get()
    }

    private func opened() throws -> Connection {
        if isClosed { throw SluiceError(.closed, "the broker was closed") }
        if let connection { return connection }
        let opened = try file.openReader(path)
        connection = opened
        return opened
    }
}
