#if PostgreSQL
internal import CSluicePostgres
internal import Dispatch
internal import Sluice

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Darwin)
internal import Darwin
#endif

/// A connection of libpq.
final class LibpqLink: PostgresLink {
    private let connection: OpaquePointer
    private var source: (any DispatchSourceRead)?

    /// Connects, for at most the address's `connect_timeout`.
    init(_ address: PostgresAddress) throws(PostgresFailure) {
        guard address.settings != nil else {
            throw .cannotConnect(
                "the address is no connection string that libpq can read; in a URL, write special characters "
                    + "of a password as %XX"
            )
        }
        let names = address.parameters.map(\.name)
        let values = address.parameters.map(\.value)
        let connection = withStrings(names.map(Optional.some)) { names in
            withStrings(values.map(Optional.some)) { values in
                PQconnectStartParams(names, values, 1)
            }
        }
        guard let connection else { throw .cannotConnect("libpq has no memory") }
        // Notices go nowhere: libpq would write them to the standard error, also those of a server that
        // greets with one. PQreset connects as PQconnectdbParams does, with the receiver that is set.
        PQsetNoticeReceiver(connection, { _, _ in }, nil)
        PQreset(connection)
        guard PQstatus(connection) == CONNECTION_OK else {
            let reason = Self.line(PQerrorMessage(connection))
            PQfinish(connection)
            throw .cannotConnect(reason)
        }
        self.connection = connection
    }

    var isAlive: Bool {
        var socket = pollfd(fd: PQsocket(connection), events: Int16(POLLIN), revents: 0)
        // A listening connection is read by its source.
        while source == nil, poll(&socket, 1, 0) > 0 {
            guard PQconsumeInput(connection) == 1 else { return false }
        }
        return PQstatus(connection) == CONNECTION_OK
    }

    func finish() {
        // The socket of a source may be closed only when the source has ended.
        guard let source else { return PQfinish(connection) }
        source.cancel()
        self.source = nil
    }

    func call(
        _ sql: String,
        _ parameters: [String?],
        within limit: Duration
    ) throws(PostgresFailure) -> PostgresRows {
        guard !parameters.contains(where: \.hasNUL) else { throw .hasNUL }
        let isSent = withStrings(parameters) { values in
            PQsendQueryParams(connection, sql, Int32(parameters.count), nil, values, nil, nil, 0)
        }
        guard isSent == 1 else { throw .lost(Self.line(PQerrorMessage(connection))) }
        do throws(PostgresFailure) {
            return try answer(within: limit)
        } catch {
            if case .lost(PostgresFailure.tooLate) = error { giveUp() }
            throw error
        }
    }

    /// Has the server end the statement whose answer nobody waits for any more, so that it is not done later.
    private func giveUp() {
        guard let cancel = PQgetCancel(connection) else { return }
        let pointer = UncheckedPointer(cancel)
        // It connects to the server, for as long as that takes.
        DispatchQueue.global().async {
            var reason = [CChar](repeating: 0, count: 256)
            _ = PQcancel(pointer.pointer, &reason, Int32(reason.count))
            PQfreeCancel(pointer.pointer)
        }
    }

    /// Executes a statement on a connection of the application.
    static func execute(
        on connection: OpaquePointer,
        _ sql: String,
        _ parameters: [String?]
    ) throws(PostgresFailure) -> PostgresRows {
        guard !parameters.contains(where: \.hasNUL) else { throw .hasNUL }
        let result = withStrings(parameters) { values in
            PQexecParams(connection, sql, Int32(parameters.count), nil, values, nil, nil, 0)
        }
        guard let result else { throw .lost(line(PQerrorMessage(connection))) }
        defer { PQclear(result) }
        guard PQresultStatus(result) == PGRES_TUPLES_OK else { throw failure(of: result) }
        return rows(of: result)
    }

    func execute(script: String) throws(PostgresFailure) {
        guard PQsendQuery(connection, script) == 1 else {
            throw .lost(Self.line(PQerrorMessage(connection)))
        }
        _ = try answer(within: .seconds(600))
    }

    func watch(
        on queue: any WorkQueue,
        ring: @escaping @Sendable () -> Void,
        lost: @escaping @Sendable () -> Void
    ) {
        guard let queue = queue as? DispatchQueue else {
            preconditionFailure("libpq waits on Dispatch's queues")
        }
        let source = DispatchSource.makeReadSource(fileDescriptor: PQsocket(connection), queue: queue)
        let connection = UncheckedPointer(connection)
        source.setEventHandler {
            guard PQconsumeInput(connection.pointer) == 1 else { return lost() }
            var isRung = false
            while let notification = PQnotifies(connection.pointer) {
                PQfreemem(notification)
                isRung = true
            }
            if isRung { ring() }
        }
        source.setCancelHandler { PQfinish(connection.pointer) }
        source.resume()
        self.source = source
    }

    /// Waits for the end of a statement; the last result counts, or the first error.
    private func answer(within limit: Duration) throws(PostgresFailure) -> PostgresRows {
        let deadline = ContinuousClock.now + limit
        var rows = PostgresRows(columns: [], rows: [])
        var failure: PostgresFailure?
        while true {
            try waitForResult(until: deadline)
            guard let result = PQgetResult(connection) else { break }
            defer { PQclear(result) }
            switch PQresultStatus(result) {
            case PGRES_TUPLES_OK: rows = Self.rows(of: result)
            case PGRES_COMMAND_OK, PGRES_EMPTY_QUERY: break
            default: failure = failure ?? Self.failure(of: result)
            }
        }
        if let failure { throw failure }
        return rows
    }

    /// Waits until a result can be read without blocking.
    private func waitForResult(until deadline: ContinuousClock.Instant) throws(PostgresFailure) {
        while true {
            let unsent = PQflush(connection)
            guard unsent >= 0 else { throw .lost(Self.line(PQerrorMessage(connection))) }
            if unsent == 0 && PQisBusy(connection) == 0 { return }
            let left = ContinuousClock.now.duration(to: deadline)
            guard left > .zero else { throw .lost(PostgresFailure.tooLate) }
            let events = Int16(POLLIN) | (unsent > 0 ? Int16(POLLOUT) : 0)
            var socket = pollfd(fd: PQsocket(connection), events: events, revents: 0)
            let milliseconds = Int32(clamping: left.wholeMicroseconds / 1_000 + 1)
            if poll(&socket, 1, milliseconds) < 0 && errno != EINTR { throw .lost("errno \(errno)") }
            guard PQconsumeInput(connection) == 1 else {
                throw .lost(Self.line(PQerrorMessage(connection)))
            }
        }
    }

    private static func rows(of result: OpaquePointer) -> PostgresRows {
        let (rowCount, columnCount) = (PQntuples(result), PQnfields(result))
        let columns = (0..<columnCount).map { String(cString: PQfname(result, $0)) }
        let rows = (0..<rowCount).map { row in
            (0..<columnCount).map { column -> String? in
                if PQgetisnull(result, row, column) == 1 { return nil }
                return String(cString: PQgetvalue(result, row, column))
            }
        }
        return PostgresRows(columns: columns, rows: rows)
    }

    private static func failure(of result: OpaquePointer) -> PostgresFailure {
        func field(_ code: Character) -> String? {
            PQresultErrorField(result, Int32(code.asciiValue ?? 0)).map { String(cString: $0) }
        }
        // Errors of libpq itself have no code: the connection has failed.
        guard let state = field("C") else { return .lost(line(PQresultErrorMessage(result))) }
        return .refused(state: state, message: field("M") ?? "", detail: field("D"))
    }

    /// The first line of a message of libpq.
    private static func line(_ message: UnsafePointer<CChar>?) -> String {
        guard let message else { return "" }
        return String(String(cString: message).split(whereSeparator: \.isNewline).first ?? "")
    }
}

extension String? {
    /// Whether a function of C would take the text for a shorter one.
    fileprivate var hasNUL: Bool { map { $0.withCString(strlen) != $0.utf8.count } ?? false }
}

/// A pointer that is used on one queue alone.
private struct UncheckedPointer: @unchecked Sendable {
    let pointer: OpaquePointer
    init(_ pointer: OpaquePointer) { self.pointer = pointer }
}

/// Calls a function of C with an array of strings, of which `nil` ends nothing.
private func withStrings<Output>(
    _ strings: [String?],
    _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> Output
) -> Output {
    let copies = strings.map { $0.map { strdup($0) } ?? nil }
    defer { for copy in copies { free(copy) } }
    // The names of parameters of a connection end with NULL.
    let pointers = copies.map { UnsafePointer($0) } + [nil]
    return pointers.withUnsafeBufferPointer { buffer in
        guard let start = buffer.baseAddress else { preconditionFailure("an array with an end is empty") }
        return body(start)
    }
}
#endif
