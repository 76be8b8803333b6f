#if GRDB
import Foundation
import GRDB
import Sluice
import SluiceGRDB

/// What the handlers need; they get the broker from their attempts.
struct Sender: Sendable {
    let pool: DatabasePool
    let server: any ChatServer

    private struct Body: Encodable {
        var conversation: String
        var text: String
        var attachment: String?
    }

    func send(_ send: SendMessage, _ attempt: Attempt) async throws -> Outcome {
        // Without its row the action is cancelled: see the trigger.
        let message = try await pool.read { try Message.find($0, id: send.message) }
        if message.attachment != nil && !message.isAttachmentStored {
            return .fail("its attachment was not sent")
        }
        let body = Body(
            conversation: message.conversation,
            text: message.text,
            attachment: message.attachment == nil ? nil : message.id
        )
        let request = Request(
            method: "PUT",
            path: "messages/\(message.id)",
            body: try JSONEncoder().encode(body)
        )
        return try await perform(request, of: send.account, attempt) { db in
            // The text that was sent, which an edit may have replaced since.
            try Message.filter { $0.id == send.message }.updateAll(db) { $0.sentText.set(to: message.text) }
        }
    }

    func upload(_ upload: UploadAttachment, _ attempt: Attempt) async throws -> Outcome {
        let message = try await pool.read { try Message.find($0, id: upload.message) }
        guard let path = message.attachment, let data = FileManager.default.contents(atPath: path) else {
            return .fail("its attachment cannot be read")
        }
        let request = Request(method: "PUT", path: "attachments/\(message.id)", body: data)
        return try await perform(request, of: upload.account, attempt) { db in
            try Message.filter { $0.id == upload.message }
                .updateAll(db) { $0.isAttachmentStored.set(to: true) }
        }
    }

    func delete(_ delete: DeleteMessage, _ attempt: Attempt) async throws -> Outcome {
        let request = Request(method: "DELETE", path: "messages/\(delete.message)")
        return try await perform(request, of: delete.account, attempt) { _ in }
    }

    /// Calls the server, and turns its answer into an outcome.
    ///
    /// - Parameter update: What a success changes, in the transaction that ends the action.
    private func perform(
        _ request: Request,
        of id: String,
        _ attempt: Attempt,
        _ update: @escaping @Sendable (Database) throws -> Void
    ) async throws -> Outcome {
        let account = try await pool.read { try Account.find($0, id: id) }
        guard let token = account.token else {
            return .release(after: .seconds(300), closing: account.loginGate, because: "logged out")
        }
        // If no answer comes, this throws, and the policy of the route tries again.
        let answer = try await server.perform(request, token: token)
        switch answer.status {
        case 200..<300:
            return try await attempt.success(in: pool, update)
        case 404 where request.method == "DELETE":
            // It never arrived, or an earlier attempt has deleted it.
            return .success
        case 401:
            return try await forgetToken(of: account)
        case 429, 503:
            let delay = RetryAfter.parse(answer.retryAfter) ?? .seconds(5)
            return .release(after: delay, closing: account.serverGate, because: "HTTP \(answer.status)")
        case 408, 425, 500...:
            return .retry(because: "HTTP \(answer.status)")
        case 413:
            return .fail("too large")
        default:
            return .fail("HTTP \(answer.status)")
        }
    }

    /// Forgets the token that the server has refused, and no newer one.
    private func forgetToken(of account: Account) async throws -> Outcome {
        let isCurrent = try await pool.write { db in
            try Account.filter(id: account.id).filter { $0.login == account.login }
                .updateAll(db) { $0.token.set(to: nil) } > 0
        }
        // A late answer to an old token closes nothing: the next attempt has the new one.
        guard isCurrent else { return .release(after: .seconds(1)) }
        return .release(after: .seconds(300), closing: account.loginGate, because: "HTTP 401")
    }
}
#endif
