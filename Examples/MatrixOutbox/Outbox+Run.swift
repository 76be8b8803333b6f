#if CommandLineTool && GRDB
import Foundation
import GRDB
import Sluice
import SluiceGRDB
import SluiceObservation

extension Outbox {
    /// Sends what waits, shows the rooms, and returns when only rooms that have stopped are left.
    ///
    /// - Parameters:
    ///   - timeout: Seconds after which an answer counts as lost.
    ///   - told: Called for each message that has been sent.
    func run(timeout: Int, told: @escaping @Sendable (Message) -> Void) async throws {
        guard let account = try await pool.read({ try Account.fetchOne($0) }) else {
            throw Failure(description: "there is no account: log in first")
        }
        let client = MatrixClient(account.server, timeout: timeout)
        try route(client, account.gate, told)
        // Once: a closing then also outlasts a restart.
        let isKnown = try await broker.gates().contains { $0.name == "server" }
        if !isKnown { try await broker.openGate("server", isPersistent: true) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await broker.run() }
            group.addTask {
                try await broker.keepGate("network", every: .seconds(1)) { await client.isReachable }
            }
            group.addTask {
                var screen = RoomScreen()
                for try await update in broker.observe(statuses: "room/*") {
                    screen.show(update)
                    if screen.isAllStopped { return }
                }
            }
            // Nothing is left, or a call has failed.
            try await group.next()
            group.cancelAll()
        }
    }

    private func route(
        _ client: MatrixClient,
        _ account: GateName,
        _ told: @escaping @Sendable (Message) -> Void
    ) throws {
        let options = RouteOptions(
            retry: .exponential(first: .milliseconds(500), limit: .seconds(60)),
            // One that is refused for good is skipped; answers that concern the room stop it, see below.
            failure: FailurePolicies(failed: .skip),
            gates: ["network", "server", account]
        )
        try broker.route("room/*", UploadFile.self, options) { upload, attempt in
            guard let (message, token) = try await begin(upload.message) else {
                return .release(untilOpen: account)
            }
            guard let path = message.file, let data = FileManager.default.contents(atPath: path) else {
                return try await refuse(upload.message, "its file cannot be read")
            }
            return try await settle(upload.message, token, attempt, client) {
                try await client.upload(data, token: token)
            } mark: { answer, db in
                let mark = "UPDATE message SET fileURI = ?, isOnItsWay = FALSE, refusal = NULL WHERE id = ?"
                try db.execute(sql: mark, arguments: [answer.fields.contentURI, upload.message])
            }
        }
        try broker.route("room/*", SendMessage.self, options) { send, attempt in
            guard let (message, token) = try await begin(send.message) else {
                return .release(untilOpen: account)
            }
            if message.file != nil && message.fileURI == nil {
                return try await refuse(send.message, message.refusal ?? "its file has not been uploaded")
            }
            let outcome = try await settle(send.message, token, attempt, client) {
                try await client.send(message, transaction: attempt.idempotencyKey, token: token)
            } mark: { answer, db in
                let mark = "UPDATE message SET eventID = ?, refusal = NULL WHERE id = ?"
                try db.execute(sql: mark, arguments: [answer.fields.eventID, send.message])
            }
            if outcome == .success {
                told(try await pool.read { try Message.find($0, id: send.message) })
            }
            return outcome
        }
    }

    /// Reads a message, and marks it: from now on the server may have it.
    ///
    /// - Returns: `nil` without a token; then the gate of the account is closed.
    /// - Throws: If the message has been cancelled, and its action with it: the outcome has no effect then.
    private func begin(_ id: Int64) async throws -> (Message, token: String)? {
        try await pool.write { db in
            guard let token = try Account.fetchOne(db)?.token else { return nil }
            try db.execute(sql: "UPDATE message SET isOnItsWay = TRUE WHERE id = ?", arguments: [id])
            let message = try Message.find(db, id: id)
            return (message, token)
        }
    }

    /// Asks the server, and turns its answer into an outcome.
    private func settle(
        _ id: Int64,
        _ token: String,
        _ attempt: Attempt,
        _ client: MatrixClient,
        asking ask: () async throws -> Answer,
        mark: @escaping @Sendable (Answer, Database) throws -> Void
    ) async throws -> Outcome {
        let answer: Answer
        do {
            answer = try await ask()
        } catch {
            // If the server answers a probe, this answer was lost: the policy tries again, as after a stop.
            let isReachable = await client.isReachable
            if isReachable || Task.isCancelled { throw error }
            // Nobody's fault: no attempt is spent, and no room tries until the probe gets an answer.
            try await attempt.broker.closeGate("network")
            return .release(untilOpen: "network")
        }
        switch answer.status {
        case 200..<300:
            // The mark and the end of the action are one commit.
            return try await attempt.success(in: pool) { db in try mark(answer, db) }
        case 429:
            // The limit is the user's, in all rooms.
            return .release(after: answer.wait, closing: "server", because: answer.reason)
        case 401:
            return try await logOut(token)
        case 408, 500...:
            throw Failure(description: answer.reason)
        case 413:
            return try await refuse(id, answer.reason)
        default:
            // The user is not in the room, or it is unknown: later messages would be refused too.
            try await unmark(id, refusal: nil)
            return .halt(answer.reason)
        }
    }

    /// Forgets a token that the server does not know any more, which closes the gate of the account.
    private func logOut(_ token: String) async throws -> Outcome {
        let gate = try await pool.write { db in
            // There may be a new one already.
            let forget = "UPDATE account SET token = NULL WHERE token = ?"
            try db.execute(sql: forget, arguments: [token])
            return try Account.fetchOne(db)?.gate
        }
        guard let gate else { return .release }
        return .release(untilOpen: gate)
    }

    /// Marks the message with the reason, and makes its action a dead letter.
    private func refuse(_ id: Int64, _ reason: String) async throws -> Outcome {
        try await unmark(id, refusal: reason)
        return .fail(reason)
    }

    /// The server does not have the message: it can be edited and cancelled again.
    private func unmark(_ id: Int64, refusal: String?) async throws {
        try await pool.write { db in
            let mark = "UPDATE message SET isOnItsWay = FALSE, refusal = ? WHERE id = ?"
            try db.execute(sql: mark, arguments: [refusal, id])
        }
    }
}
#endif
