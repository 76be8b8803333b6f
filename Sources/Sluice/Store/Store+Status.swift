/// Reading the state of queues with work.
extension Store {
    /// Reads queues with work in the order of their names, a page at a time, until `body` has enough.
    ///
    /// - Parameters:
    ///   - name: Only queues after this one.
    ///   - body: Called with each page, inside the snapshot; returns whether to continue.
    func queueFacts(
        _ form: QueuePattern.Form,
        after name: QueueName? = nil,
        page limit: Int,
        body: @escaping @Sendable (StatusFacts, [QueueFacts]) -> Bool
    ) async throws(SluiceError) {
        let now = clock.now
        try await read { [runners, identity, nonce] connection in
            // The claims of dead processes are not runs.
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
                // With a single name there is nothing after it.
                if case .exact = form { return }
                end = page.last?.id
            }
        }
    }
}
