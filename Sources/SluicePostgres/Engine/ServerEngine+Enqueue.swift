#if PostgreSQL
internal import CSluicePostgres
package import Sluice
internal import Synchronization

/// Enqueuing; when a call returns, the action is as durable as a commit of the server (G1).
extension ServerEngine {
    package func enqueue(_ drafts: [ActionDraft]) async throws -> [ActionID] {
        let ids = try await enqueuer.enqueue(drafts)
        changed()
        return ids
    }

    package func enqueueBlocking(_ drafts: [ActionDraft]) throws(SluiceError) -> [ActionID] {
        let result = Mutex<Result<[ActionID], SluiceError>?>(nil)
        let isOver = options.engine.place.signal()
        enqueuer.add(
            PostgresEnqueuer.Call(drafts: drafts) { answer in
                result.withLock { $0 = answer }
                isOver.send()
            }
        )
        isOver.wait()
        defer { changed() }
        guard let answer = result.withLock({ $0 }) else { return [] }
        return try answer.get()
    }

    package func submit(_ drafts: [ActionDraft], _ ended: @escaping @Sendable (SluiceError?) -> Void) {
        enqueuer.add(
            PostgresEnqueuer.Call(drafts: drafts) { [weak self] result in
                switch result {
                case .success:
                    self?.changed()
                    ended(nil)
                case .failure(let error): ended(error)
                }
            }
        )
    }

    package func enqueue(
        _ drafts: [ActionDraft],
        in connection: OpaquePointer
    ) throws(SluiceError) -> [ActionID] {
        guard PQtransactionStatus(connection) == PQTRANS_INTRANS else {
            throw SluiceError(.noTransaction, "the connection has no open transaction: begin one first")
        }
        if drafts.isEmpty { return [] }
        let rows: PostgresRows
        do throws(PostgresFailure) {
            let sql = PostgresAddress(url: "", schema: server.schema).qualified(EnqueueArrays.sql)
            // Whether it is committed is known to the application.
            let parameters = EnqueueArrays([drafts]).parameters(nil)
            rows = try LibpqLink.execute(on: connection, sql, parameters)
        } catch {
            throw error.error(doing: "enqueuing in a transaction of the application")
        }
        for (row, draft) in zip(rows, drafts) {
            if let refusal = row["refusal"] { throw PostgresEnqueuer.refusal(refusal, draft) }
        }
        return rows.compactMap { $0.integer("id").map { ActionID(rawValue: $0) } }
    }
}
#endif
