#if PostgreSQL
internal import Logging
internal import Sluice
internal import Synchronization

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// Enqueues for all callers on one connection: waiting calls go into one call of the server.
final class PostgresEnqueuer: Sendable {
    /// The actions of one caller, all or none of which are stored.
    struct Call: Sendable {
        let drafts: [ActionDraft]
        let finish: @Sendable (Result<[ActionID], SluiceError>) -> Void
    }

    private struct State {
        var calls: [Call] = []
        var isSending = false
        var isClosed = false
        var idle: [CheckedContinuation<Void, Never>] = []
    }

    /// The most actions of one call of the server, unless one caller has more.
    private static let groupSize = 1_000
    /// For how long the result of a commit is asked for after the connection was lost.
    private static let patience: Duration = .seconds(30)
    /// After so many, about a second, the log says that an enqueue waits.
    private static let triesBeforeWord = 5

    private let state = Mutex(State())
    private let connection: PostgresConnection
    private let logger: Logger
    private let place: any WorkPlace
    private let queue: any WorkQueue
    private let executor: QueueExecutor

    init(_ connection: PostgresConnection, _ options: BrokerOptions) {
        (self.connection, logger, place) = (connection, options.logger, options.engine.place)
        queue = place.queue("sluice.postgres.enqueue", isUrgent: true)
        executor = QueueExecutor(queue)
    }

    func enqueue(_ drafts: [ActionDraft]) async throws -> [ActionID] {
        try Task.checkCancellation()
        return try await withCheckedContinuation { continuation in
            add(Call(drafts: drafts) { continuation.resume(returning: $0) })
        }.get()
    }

    /// Adds a call behind the waiting ones, and sends them unless they are being sent.
    func add(_ call: Call) {
        let (isClosed, begins) = state.withLock { state -> (Bool, Bool) in
            if state.isClosed { return (true, false) }
            state.calls.append(call)
            defer { state.isSending = true }
            return (false, !state.isSending)
        }
        if isClosed { return call.finish(.failure(SluiceError(.closed, "the broker was closed"))) }
        if begins { Task(executorPreference: executor) { await self.send() } }
    }

    /// Waits until all calls have been answered, then closes the connection.
    func close() async {
        await withCheckedContinuation { continuation in
            let isIdle = state.withLock { state in
                state.isClosed = true
                if state.isSending { state.idle.append(continuation) }
                return !state.isSending
            }
            if isIdle { continuation.resume() }
        }
        await connection.close()
    }

    private func send() async {
        while let group = next() { await send(group) }
    }

    private func next() -> [Call]? {
        let (group, idle) = state.withLock { state -> ([Call]?, [CheckedContinuation<Void, Never>]) in
            guard !state.calls.isEmpty else {
                state.isSending = false
                defer { state.idle = [] }
                return (nil, state.idle)
            }
            var (count, size) = (0, 0)
            for call in state.calls {
                if count > 0 && size + call.drafts.count > Self.groupSize { break }
                (count, size) = (count + 1, size + call.drafts.count)
            }
            defer { state.calls.removeFirst(count) }
            return (Array(state.calls.prefix(count)), [])
        }
        for continuation in idle { continuation.resume() }
        return group
    }

    private func send(_ group: [Call]) async {
        do throws(PostgresFailure) {
            let rows = try await store(EnqueueArrays(group.map(\.drafts)))
            finish(group, rows)
        } catch {
            if case .refused = error, !error.mayHaveCommitted, group.count > 1 {
                // One of them may be at fault.
                for call in group { await send([call]) }
            } else {
                for call in group { call.finish(.failure(self.error(error))) }
            }
        }
    }

    private func error(_ failure: PostgresFailure) -> SluiceError {
        guard failure.mayHaveCommitted else { return failure.error(doing: "enqueuing") }
        return SluiceError(
            .unknownCommit,
            "enqueuing: the connection was lost at the commit, and the server cannot be asked: the actions "
                + "may be stored"
        )
    }

    private struct Stored: Sendable {
        let id: ActionID?
        let refusal: String?
    }

    /// Stores a group; after a lost connection asks whether it was committed (G14).
    private func store(_ arrays: EnqueueArrays) async throws(PostgresFailure) -> [Stored] {
        let deadline = place.now + Self.patience
        var tries = 0
        while true {
            let token = UUID().uuidString
            do throws(PostgresFailure) {
                let rows = try await connection.call(EnqueueArrays.sql, arrays.parameters(token))
                return rows.map {
                    Stored(id: $0.integer("id").map { ActionID(rawValue: $0) }, refusal: $0["refusal"])
                }
            } catch {
                tries += 1
                if error.mayHaveCommitted {
                    if let ids = try await resolve(token, until: deadline, after: error) { return ids }
                } else if !error.isPassing || place.now > deadline {
                    throw error
                }
                await pause(tries, after: error)
            }
        }
    }

    /// The ids of a group whose commit is not known; `nil`: it was not committed, and cannot be any more.
    private func resolve(
        _ token: String,
        until deadline: Duration,
        after lost: PostgresFailure
    ) async throws(PostgresFailure) -> [Stored]? {
        var tries = 0
        while true {
            do throws(PostgresFailure) {
                let rows = try await connection.call("SELECT ids FROM @sluice_token($1)", [token])
                guard let ids = rows.first?["ids"] else { return nil }
                logger.notice("a lost connection had committed an enqueue")
                // A refused action has no id; the reason is not stored.
                return PostgresArray.numbers(in: ids).map {
                    Stored(id: $0.map { ActionID(rawValue: $0) }, refusal: $0 == nil ? "" : nil)
                }
            } catch {
                tries += 1
                // The question is a write too: it waits for room on a full disk.
                let mayPass = error.isPassing || error.mayHaveCommitted || error.lacksResources
                guard mayPass, place.now < deadline else { throw lost }
                await pause(tries, after: error)
            }
        }
    }

    /// Waits before another try on a timer that needs no thread of the cooperative pool.
    private func pause(_ tries: Int, after error: PostgresFailure) async {
        if tries == Self.triesBeforeWord {
            logger.warning("an enqueue waits for the server", metadata: ["error": "\(error)"])
        }
        var timer: (any WorkTimer)?
        await withCheckedContinuation { continuation in
            timer = queue.timer { continuation.resume() }
            timer?.set(place.now + place.pauseLength(tries))
        }
        withExtendedLifetime(timer) {}
    }

    private func finish(_ group: [Call], _ rows: [Stored]) {
        var start = 0
        for call in group {
            let own = rows[start..<(start + call.drafts.count)]
            start += call.drafts.count
            if let index = own.firstIndex(where: { $0.refusal != nil }) {
                let draft = call.drafts[index - own.startIndex]
                call.finish(.failure(Self.refusal(own[index].refusal ?? "", draft)))
            } else {
                call.finish(.success(own.compactMap(\.id)))
            }
        }
    }

    static func refusal(_ name: String, _ draft: ActionDraft) -> SluiceError {
        let message =
            switch name {
            case "queueFull":
                "the queue '\(draft.queue)' holds \(draft.depthLimit ?? 0) actions, as many as its options "
                    + "allow"
            case "duplicateKey":
                "the queue '\(draft.queue)' has an action with the key '\(draft.extras?.key?.text ?? "")', "
                    + "or had one a short time ago"
            case "sortKeyMismatch":
                "the actions of the queue '\(draft.queue)' have another type of sort key than "
                    + "\(draft.sortKey.kind): give it one of theirs"
            default: "the server has refused an action for the queue '\(draft.queue)'"
            }
        return SluiceError(SluiceError.Code(name: name) ?? .storage, message)
    }
}
#endif
