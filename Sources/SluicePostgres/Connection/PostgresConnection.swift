#if PostgreSQL
internal import Sluice

/// One connection to the server, whose calls wait on a queue of its own, off the cooperative pool.
///
/// A call that fails because the connection is lost leaves it closed; the next one connects again.
actor PostgresConnection {
    private let queue: SerialQueue
    nonisolated let address: PostgresAddress
    private let connector: any PostgresConnector
    private var link: (any PostgresLink)?
    private var isClosed = false
    /// A server that only reads has refused a call.
    private var wantsToWrite = false
    /// Whether a call fails if the server has ended the connection since the last one; else it connects
    /// again.
    private let reportsLoss: Bool
    /// The server's clock for the connection's calls, in tests.
    private let clock: (@Sendable () -> Timestamp)?

    nonisolated var unownedExecutor: UnownedSerialExecutor { queue.asUnownedSerialExecutor() }

    init(
        _ address: PostgresAddress,
        by connector: any PostgresConnector = LibpqConnector(),
        reportsLoss: Bool = false,
        clock: (@Sendable () -> Timestamp)? = nil
    ) {
        (self.connector, queue, self.reportsLoss) = (connector, SerialQueue(connector.queue()), reportsLoss)
        (self.address, self.clock) = (address, clock)
    }

    /// Has the server execute one statement, in a transaction of its own.
    ///
    /// - Parameters:
    ///   - sql: The statement, with parameters `$1`, `$2` and so on, and `@` before names of the schema.
    ///   - parameters: Their values as text; `nil` is NULL.
    ///   - limit: For how long the server's answer is waited for. After that the connection is lost.
    func call(
        _ sql: String,
        _ parameters: [String?] = [],
        within limit: Duration = .seconds(60)
    ) throws(PostgresFailure) -> PostgresRows {
        let link = try connected()
        do throws(PostgresFailure) {
            if let clock {
                let set = "SELECT set_config('sluice.test_now', $1, false)"
                _ = try link.call(set, ["\(clock().microseconds)"], within: limit)
            }
            return try link.call(address.qualified(sql), parameters, within: limit)
        } catch {
            failed(error)
            throw error
        }
    }

    /// Has the server execute several statements in one transaction, on one connection.
    ///
    /// If that is lost, the next statement fails: on another one it would run alone, with other settings.
    ///
    /// - Parameter body: It is called on this connection's queue; an error rolls the transaction back.
    func transaction<Output: Sendable>(
        _ body: @Sendable (PostgresTransaction) throws(PostgresFailure) -> Output
    ) throws(PostgresFailure) -> Output {
        let transaction = PostgresTransaction(link: try connected(), address: address)
        do throws(PostgresFailure) {
            _ = try transaction.call("BEGIN")
            let output = try body(transaction)
            _ = try transaction.call("COMMIT")
            return output
        } catch {
            failed(error)
            // Without its rollback the connection cannot be used any more.
            if !error.endsConnection, (try? transaction.call("ROLLBACK")) == nil { lose() }
            throw error
        }
    }

    /// Listens on a channel, and calls back for each notification until the connection is lost or closed.
    func listen(
        _ channel: String,
        ring: @escaping @Sendable () -> Void,
        lost: @escaping @Sendable () -> Void
    ) throws(PostgresFailure) {
        let link = try connected()
        do throws(PostgresFailure) {
            _ = try link.call("LISTEN \(quoted(channel))", [], within: .seconds(10))
        } catch {
            lose()
            throw error
        }
        link.watch(on: queue.queue, ring: ring) { [weak self] in
            self?.assumeIsolated { $0.lose() }
            lost()
        }
    }

    func close() {
        isClosed = true
        lose()
    }

    private func connected() throws(PostgresFailure) -> any PostgresLink {
        if isClosed { throw .closed }
        if let link {
            if reportsLoss || link.isAlive { return link }
            lose()
        }
        var address = self.address
        if wantsToWrite { address.isForWriting = true }
        let link = try connector.connect(address)
        self.link = link
        return link
    }

    private func failed(_ error: PostgresFailure) {
        if error.isReadOnly { wantsToWrite = true }
        if error.endsConnection { lose() }
    }

    private func lose() {
        link?.finish()
        link = nil
    }
}

/// An identifier as SQL has it.
func quoted(_ name: String) -> String { "\"\(name.replacing("\"", with: "\"\""))\"" }
#endif
