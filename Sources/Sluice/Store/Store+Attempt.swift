/// The way of an action through the file: enqueued, claimed, settled.
extension Store {
    /// Stores actions, all or none, in their order; they are durable when it returns.
    ///
    /// - Throws: `CancellationError` if the task was cancelled before the write began; `SluiceError`
    ///   otherwise. Nothing is stored then, except possibly with ``SluiceError/Code/unknownCommit``.
    package func enqueue(_ drafts: [ActionDraft]) async throws -> [ActionID] {
        try await writeUnlessCancelled(sync: .owed) { try $0.enqueues.enqueue(drafts) }.get()
    }

    package func enqueueBlocking(_ drafts: [ActionDraft]) throws(SluiceError) -> [ActionID] {
        try writeBlocking(sync: .owed) { try $0.enqueues.enqueue(drafts) }.get()
    }

    /// Stores actions, all or none, after those of earlier calls, on the writer's thread.
    package func submit(
        _ drafts: [ActionDraft],
        completion: @escaping @Sendable (Result<[ActionID], SluiceError>) -> Void
    ) {
        writer.submit(
            Write(
                sync: .owed,
                commitsOnWriterThread: true,
                body: { try $0.enqueues.enqueue(drafts) },
                completion: { completion($0.flatMap { $0 }) }
            )
        )
    }

    /// Claims the heads of queues in one transaction; the results have the order of the requests.
    package func claim(
        _ requests: [ClaimRequest],
        by admission: Admission,
        completion: @escaping @Sendable (Result<[ClaimResult], SluiceError>) -> Void
    ) {
        let isEarly = mutant("claim before start")
        let claim = { @Sendable (transaction: WriteTransaction) throws in
            let results = try requests.map { try transaction.claims.claim($0, by: admission) }
            if isEarly { completion(.success(results)) }
            return results
        }
        writer.submit(Write(sync: .later, body: claim, completion: isEarly ? { _ in } : completion))
    }

    /// Settles a run and claims the head of a queue, the same or another, in one transaction.
    ///
    /// `mayBeWritten`: whether an earlier write of the settlement was in a commit with an unknown result.
    package func settle(
        _ receipt: Receipt,
        _ settlement: Settlement,
        thenClaim next: ClaimRequest?,
        by admission: Admission,
        mayBeWritten: Bool = false,
        commitsOnWriterThread: Bool = false,
        completion: @escaping @Sendable (Result<SettlementAnswer, SluiceError>) -> Void
    ) {
        let write = Write(
            sync: settlement.sync,
            isAlone: settlement.runsForeignCode,
            commitsOnWriterThread: commitsOnWriterThread,
            body: { transaction in
                let result = try transaction.settlements.settle(
                    receipt,
                    settlement,
                    mayBeWritten: mayBeWritten
                )
                return SettlementAnswer(
                    result: result,
                    claim: try next.map { try transaction.claims.claim($0, by: admission) }
                )
            },
            completion: completion
        )
        writer.submit(write)
    }

    /// Waits until an action is settled or removed, and calls `onWait` if it has to wait.
    package func settled(
        _ action: ActionID,
        onWait: @escaping @Sendable () -> Void = {}
    ) async throws -> ActionEnd {
        let number = waiters.nextNumber()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                guard waiters.enter(action, number, continuation) else { return }
                // After the waiter is added, so that later commits notify it.
                write(sync: .later) {
                    try $0.core.end(of: action)
                } completion: { [waiters] found in
                    switch found {
                    case .success(nil): onWait()
                    case .success(let end?): waiters.leave(action, number, with: .success(end))
                    case .failure(let error): waiters.leave(action, number, with: .failure(error))
                    }
                }
            }
        } onCancel: {
            waiters.leave(action, number, with: .failure(CancellationError()))
        }
    }
}

/// What came of settling a run, and of the claim in the same transaction.
package struct SettlementAnswer: Sendable {
    package let result: SettleResult
    /// `nil` if no claim was asked for.
    package let claim: ClaimResult?

    /// The action that was claimed.
    var next: ClaimedAction? {
        guard case .claimed(let action) = claim else { return nil }
        return action
    }
}
