extension Store {
    /// Reads queues with work in the order of their names, a page at a time, until `body` has enough.
    ///
    /// - Parameters:
    ///   - name: Only queues behind this one.
    ///   - body: Called with each page, inside the snapshot; says whether to go on.
    func queueFacts(
        _ form: QueuePattern.Form,
        after name: QueueName? = nil,
        page limit: Int,
        body: @escaping @Sendable (StatusFacts, [QueueFacts]) -> Bool
    ) async throws(SluiceError) {
        let now = clock.now
        try await read { [runners, identity, nonce] connection in
            // What a process left that died is no run.
            let living = try RunnerRow.living(connection, own: nonce, seenFrom: identity, at: now)
            let live = RunnerRow.epochs(living)
            let file = try StatusFacts(connection, runners, living, seenFrom: identity, now: now)
            let bounds = form.bounds
            let first = name.map { max(bounds.first, $0.rawValue + "\u{0}") } ?? bounds.first
            var end: QueueID?
            while true {
                let page = try QueueFacts.read(
                    connection,
                    from: first,
                    to: bounds.last,
                    after: end,
                    live,
                    limit: limit
                )
                guard body(file, page), page.count == limit else { return }
                // A name's successor cannot lie behind the bounds of a single name.
                if case .exact = form { return }
                end = page.last?.id
            }
        }
    }
}
