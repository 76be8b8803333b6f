#if GRDB
import GRDB
import Sluice

extension Outbox {
    /// Adds the routes of all accounts: at the start, and in a test's set-up.
    func addRoutes(_ server: any ChatServer) throws {
        for account in try pool.read({ try Account.fetchAll($0) }) { try addRoutes(of: account, server) }
    }

    /// An account has routes of its own, with gates of its own.
    private func addRoutes(of account: Account, _ server: any ChatServer) throws {
        let sender = Sender(pool: pool, server: server)
        let options = RouteOptions(
            retry: .exponential(limit: .seconds(60)),
            // A message that the server refuses becomes a dead letter; the conversation continues.
            failure: FailurePolicies(failed: .skip),
            gates: ["network", account.loginGate, account.serverGate],
            replaces: true
        )
        try broker.route(account.queues, SendMessage.self, options) { try await sender.send($0, $1) }
        try broker.route(account.queues, UploadAttachment.self, options) { try await sender.upload($0, $1) }
        try broker.route(account.queues, DeleteMessage.self, options) { try await sender.delete($0, $1) }
    }

    /// Logs in, for the first time or once more, and adds the account's routes.
    @discardableResult
    func logIn(_ id: String, _ server: any ChatServer) async throws -> Account {
        let token = try await server.logIn(id)
        let account = try await pool.write { db in
            try Account.fetchOne(db, id: id) ?? Account(id: id).inserted(db)
        }
        try addRoutes(of: account, server)
        try await store(token, of: account)
        return account
    }

    /// Deletes an account and its messages, and with them their actions.
    func logOut(_ account: Account) async throws {
        _ = try await pool.write { try account.delete($0) }
        try broker.removeRoutes(account.queues)
    }

    /// Logs in each account that has no token: at once, and whenever an answer 401 has closed a gate.
    func keepLoggedIn(_ server: any ChatServer) async throws {
        // Before the first look, so that no closing is missed.
        let events = broker.events()
        try await renewTokens(server)
        for await observed in events {
            // A gap of missed events may hide a closing.
            if case .event(let event) = observed {
                guard event.kind == .gateClosed, let gate = event.gate else { continue }
                guard gate.rawValue.hasPrefix("login:") else { continue }
            }
            try await renewTokens(server)
        }
    }

    private func renewTokens(_ server: any ChatServer) async throws {
        for account in try await pool.read({ try Account.fetchAll($0) }) {
            guard account.token == nil else {
                // A login came between the answer 401 and the closing.
                try await openLoginGate(of: account)
                continue
            }
            do {
                try await store(try await server.logIn(account.id), of: account)
            } catch let error as LoginRefused {
                // The user must log in: the gate stays closed, and the next attempt closes it again.
                logger.warning("the server refuses a login", metadata: ["status": "\(error.status)"])
            } catch {
                logger.info("a login had no answer", metadata: ["error": "\(error)"])
            }
        }
    }

    private func store(_ token: String, of account: Account) async throws {
        let isThere = try await pool.write { db in
            try Account.filter(id: account.id).updateAll(db) {
                [$0.token.set(to: token), $0.login.set(to: $0.login + 1)]
            } > 0
        }
        // The user has logged out since.
        guard isThere else { return }
        try await openLoginGate(of: account)
        let isKnown = try await broker.gates().contains { $0.name == account.serverGate }
        if !isKnown { try await broker.openGate(account.serverGate, isPersistent: true) }
    }

    private func openLoginGate(of account: Account) async throws {
        // Kept: it stays open over a restart.
        try await broker.openGate(account.loginGate, isPersistent: true)
        // The messages that got the answer 401 wait for the five minutes themselves.
        try await broker.retryNow(account.queues)
    }
}
#endif
