#if PostgreSQL
internal import Sluice

/// Why a call to the server has failed.
package enum PostgresFailure: Error, Sendable, Hashable, CustomStringConvertible {
    case closed
    /// No connection could be made; with libpq's words, which have no parameters.
    case cannotConnect(String)
    /// The connection was lost. Whether the statement was executed is not known.
    case lost(String)
    /// The server, or a pooler before it, has refused the statement. Nothing of it was done, unless the state
    /// says that the connection has ended: see ``mayHaveCommitted``.
    case refused(state: String, message: String, detail: String?)
    /// The schema lacks tables or functions, and may not be changed; with the reason.
    case schemaMissing(String)
    /// The database or the role has a setting with which nothing works; with the setting and what to do.
    case unsuitable(String)

    /// Whether the connection cannot be used any more.
    var endsConnection: Bool {
        switch self {
        case .lost: true
        case .closed, .cannotConnect, .schemaMissing, .unsuitable: false
        // A server that only reads is a standby: the address may lead to another one.
        case .refused(let state, _, _): state.hasPrefix("08") || state.hasPrefix("57P") || isReadOnly
        }
    }

    /// Whether the server only reads.
    var isReadOnly: Bool { if case .refused("25006", _, _) = self { true } else { false } }

    /// Whether the server does not take a value of the statement, however often it gets it.
    var isOfData: Bool {
        guard case .refused(let state, _, _) = self, !isDuplicate else { return false }
        return ["22", "23", "54"].contains { state.hasPrefix($0) }
    }

    /// The refusal of a text that cannot be sent.
    static let hasNUL = PostgresFailure.refused(state: "22021", message: "a text has a NUL", detail: nil)

    /// Whether the same statement may succeed in a moment: the server has rolled it back.
    var isPassing: Bool {
        switch self {
        case .refused(let state, _, _):
            ["40001", "40P01", "53300"].contains(state) || isReadOnly
        case .cannotConnect: true
        case .lost, .closed, .schemaMissing, .unsuitable: false
        }
    }

    /// Whether a worker's run ends with it, as trying again is in vain.
    var endsRun: Bool {
        switch self {
        case .refused(let state, _, _):
            ["SL002", "SL005", "3F000", "42P01", "42883", "42501", "28000", "28P01"].contains(state)
        case .closed, .schemaMissing, .unsuitable: true
        case .cannotConnect, .lost: false
        }
    }

    /// The reason of a lost connection whose server took too long.
    package static let tooLate = "no answer came in time"

    /// Whether a read may be repeated: not one that takes too long.
    var mayRepeatRead: Bool {
        if case .lost(Self.tooLate) = self { false } else { isPassing || endsConnection }
    }

    /// Whether a lock was not to be had in time.
    var isLocked: Bool { if case .refused("55P03", _, _) = self { true } else { false } }

    /// Whether the server has no room on the disk, no memory or no connection left.
    var lacksResources: Bool {
        if case .refused(let state, _, _) = self { state.hasPrefix("53") } else { false }
    }

    /// Whether the worker's row is gone: others have its queues now.
    var isTakenOff: Bool { if case .refused("SL001", _, _) = self { true } else { false } }

    /// Whether the statement may have been executed.
    ///
    /// A pooler reports the loss of its own connection to the server as an error of class 08
    /// (<https://www.pgbouncer.org/config.html>, `query_timeout`), and a server may end a connection after
    /// the commit and before the answer.
    var mayHaveCommitted: Bool {
        switch self {
        case .lost: true
        case .refused: endsConnection && !isReadOnly && !mutant("server pooler")
        case .closed, .cannotConnect, .schemaMissing, .unsuitable: false
        }
    }

    /// Whether the number of a claim is in use: the worker does not know of an earlier one.
    private var isDuplicate: Bool { if case .refused("23505", _, _) = self { true } else { false } }

    /// Whether a worker may have claims that it does not know of.
    var needsResync: Bool { mayHaveCommitted || isDuplicate }

    /// The error that users see; no parameter is in it (G13).
    ///
    /// - Parameter isChange: Whether the call was to change something.
    func error(doing task: String, isChange: Bool = false) -> SluiceError {
        switch self {
        case .closed: SluiceError(.closed, "\(task): the broker was closed")
        case .cannotConnect(let reason):
            SluiceError(.cannotOpen, "\(task): \(Self.headline(of: reason)): \(reason)")
        case .lost(let reason) where isChange:
            SluiceError(
                .connectionLost,
                "\(task): the connection to the server was lost (\(reason)), so it may have been done "
                    + "or not; look, and try again"
            )
        case .lost(let reason):
            SluiceError(
                .connectionLost,
                "\(task): the connection to the server was lost (\(reason)); try again"
            )
        case .refused where isChange && mayHaveCommitted:
            Self.lost("the server has ended it").error(doing: task, isChange: true)
        case .refused(let state, let message, let detail):
            Self.error(task, state, message, detail)
        case .schemaMissing(let reason): SluiceError(.schemaMissing, "\(task): \(reason)")
        case .unsuitable(let reason): SluiceError(.unsupportedDatabase, "\(task): \(reason)")
        }
    }

    /// Returns why there is no connection, by the words of the server or of libpq.
    private static func headline(of reason: String) -> String {
        // The word is the server's own: it was reached.
        if reason.contains("FATAL:") { return "the server refuses the connection" }
        if reason.contains("session is") || reason.contains("hot standby") || reason.contains("standby mode")
        {
            return "the server is of the wrong kind"
        }
        let isAddress = ["connection string", "connection option", "invalid", "URI"].contains {
            reason.contains($0)
        }
        return isAddress ? "the address cannot be used" : "the server cannot be reached"
    }

    /// For logs: as users see it, since the server's words can quote values (G13).
    package var description: String { error(doing: "a call of the server").description }

    /// Who holds a lock, if the function of the schema has said so.
    private static func holders(_ detail: String?) -> String {
        guard let detail, detail.hasPrefix("databaseLocked ") else { return "" }
        let processes = detail.dropFirst("databaseLocked ".count)
        return processes.isEmpty ? ": a prepared one" : ": that of the server's process \(processes)"
    }

    private static func error(
        _ task: String,
        _ state: String,
        _ message: String,
        _ detail: String?
    ) -> SluiceError {
        let (code, advice): (SluiceError.Code, String) =
            switch state {
            // Ours: the message and the code are written by the functions of the schema.
            case "SL003", "SL006": (detail.flatMap(SluiceError.Code.init(name:)) ?? .storage, message)
            case "SL002": (.newerSchema, message)
            case "SL004": (.staleReceipt, message)
            case "55P03":
                (.databaseLocked, "another transaction holds a lock\(Self.holders(detail))")
            case "40001", "40P01": (.databaseLocked, "other transactions are in the way; try again")
            case "53100": (.diskFull, "the server's disk is full; free some space and try again")
            case "53200": (.outOfMemory, "the server has no memory left")
            case "25006": (.readOnly, "the server only reads: is it a standby?")
            case "42501":
                (.readOnly, "the role may not do this: \(message); the schema's owner may, and can grant it")
            case "3F000", "42P01", "42883": (.schemaMissing, "the schema has no queues: \(message)")
            case "22021":
                (.storage, "the server cannot store a text with the character NUL, or that is not UTF-8")
            case "57014": (.interrupted, "the server has ended the statement, perhaps after a time limit")
            case _ where state.hasPrefix("08") || state.hasPrefix("57P"):
                (.connectionLost, "the server has ended the connection; try again")
            case _ where state.hasPrefix("53"): (.cannotOpen, "the server lacks resources: \(message)")
            case _ where state.hasPrefix("XX"): (.corrupt, "the server reports damage: see its log")
            // Messages of data exceptions and of violated constraints quote values.
            case _ where state.hasPrefix("22") || state.hasPrefix("23"):
                (.storage, "the server refuses a value: see its log")
            default: (.storage, message)
            }
        // Our own states say no more than the message.
        let number = state.hasPrefix("SL") ? "" : " [SQLSTATE \(state)]"
        return SluiceError(code, "\(task): \(advice)\(number)")
    }
}
#endif
