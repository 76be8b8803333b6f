extension Store {
    /// Calls `body` with each page of queues with work, by name, in one snapshot, while it returns `true`.
    ///
    /// - Parameter dirty: The queues to read; `nil` is all.
    func queueFacts(
        _ form: QueuePattern.Form,
        among dirty: DirtyStates? = nil,
        after name: QueueName? = nil,
        page limit: Int,
        body: @escaping @Sendable (StatusFacts, [QueueFacts]) -> Bool
    ) async throws(SluiceError) {
        let now = clock.now
        try await read { [identity, nonce] file in
            // The claims of dead processes are not runs.
            let living = try RunnerRow.living(file, own: nonce, seenFrom: identity, at: now)
            let live = RunnerRow.epochs(living)
            let facts = try StatusFacts(file, living, seenFrom: identity, now: now)
            var (start, last) = form.bounds
            var numbers: String?
            if let dirty {
                guard let asked = try dirty.queueNumbers(in: form, file) else { return }
                (numbers, start, last) = (asked.numbers, asked.first, asked.last)
            }
            if case .exact(let queue) = form, numbers == nil {
                guard let number = try QueueFacts.number(of: queue, file) else { return }
                numbers = number
            }
            let first = name.map { max(start, $0.rawValue + "\u{0}") } ?? start
            try QueueFacts.read(file, among: numbers, from: first, to: last, live, page: limit) { page in
                body(facts, page)
            }
        }
    }
}
