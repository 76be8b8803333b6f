extension Broker {
    /// Returns the state of a queue, with all reasons why it does not move; `empty` for an unknown name.
    ///
    /// ```swift
    /// let status = try await broker.status(of: "conversation/42")
    /// print(status)   // conversation/42: waiting for gate network
    /// ```
    ///
    /// The status combines one snapshot of the file with this broker's memory, such as the queues that wait
    /// for a permit. It may be out of date as soon as it is returned.
    public func status(of queue: QueueName) async throws(SluiceError) -> QueueStatus {
        try queue.validate()
        let found = try await engine.statuses(matching: .exact(queue), in: nil, limit: 1)
        return found.first ?? .empty(queue)
    }

    /// Returns the status of queues with work, by name; finding few in some states among many reads them all.
    public func statuses(
        matching pattern: QueuePattern = .all,
        in states: Set<QueueStatus.State>? = nil,
        limit: Int = 1_000
    ) async throws(SluiceError) -> [QueueStatus] {
        let form = try pattern.form()
        guard limit > 0 else { return [] }
        return try await engine.statuses(matching: form, in: states, limit: limit)
    }

    /// Returns the status of a queue now, then after each change, also by other processes.
    ///
    /// A slow consumer gets the latest status and misses those in between. The sequence ends when the broker
    /// is closed or the task is cancelled, and throws errors of the file. While this broker does not run,
    /// changes by others arrive within ``FileOptions/foreignChangeInterval``.
    public func statusUpdates(of queue: QueueName) -> QueueStatusUpdates {
        QueueStatusUpdates { [engine] () throws(SluiceError) -> QueueStatusUpdates.Next in
            try queue.validate()
            let next = try engine.observe(statuses: QueuePattern(queue.rawValue), after: nil).begin()
            return { () async throws(SluiceError) -> QueueStatus? in
                try await next().map { $0.states.first ?? .empty(queue) }
            }
        }
    }
}
