extension FileEngine {
    package func enqueue(_ drafts: [ActionDraft]) async throws -> [ActionID] {
        let ids = try await store.enqueue(drafts)
        scheduleChores(for: drafts)
        return ids
    }

    package func enqueueBlocking(_ drafts: [ActionDraft]) throws(SluiceError) -> [ActionID] {
        let ids = try store.enqueueBlocking(drafts)
        scheduleChores(for: drafts)
        return ids
    }

    package func submit(_ drafts: [ActionDraft], _ ended: @escaping @Sendable (SluiceError?) -> Void) {
        // Not `self`: a submission does not keep its broker open, and is written before the file closes.
        store.submit(drafts) { [weak self] result in
            switch result {
            case .success:
                self?.scheduleChores(for: drafts)
                ended(nil)
            case .failure(let error): ended(error)
            }
        }
    }

    package func enqueue(
        _ drafts: [ActionDraft],
        in connection: OpaquePointer
    ) throws(SluiceError) -> [ActionID] { try store.enqueue(drafts, in: connection) }

    package func take(_ actions: [TransferredAction]) async throws -> [ActionID?] {
        for action in actions { try action.validate(book.coder) }
        return try await store.take(actions)
    }

    /// Schedules the chores for drafts that are due later, expire or have a key.
    private func scheduleChores(for drafts: [ActionDraft]) {
        guard drafts.contains(where: { $0.notBefore != nil || $0.extras != nil }) else { return }
        if drafts.contains(where: { $0.notBefore != nil }) { admitScheduledSoon() }
        if let end = drafts.lazy.compactMap({ $0.extras?.expiresAt }).min() { scheduleSweep(at: end) }
        if drafts.contains(where: { $0.extras?.key != nil }) {
            scheduleSweep(at: options.clock.now + Expiry.keySweepInterval)
        }
    }

    func admitScheduledSoon() { if isRunning { scheduler.schedule(.admitScheduled, within: .zero) } }
}
