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

extension Store {
    /// Settles a run and claims the head of a queue, the same or another, in one transaction.
    ///
    /// `mayBeWritten`: whether an earlier write of the settlement was in a commit with an unknown result.
    package func settle(
        _ receipt: Receipt,
        _ settlement: Settlement,
        thenClaim next: ClaimRequest?,
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
                    claim: try next.map(transaction.claims.claim)
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
