extension Store {
    package func move(
        _ action: ActionID,
        to queue: QueueName,
        _ options: QueueOptions? = nil
    ) async throws(SluiceError) -> ActionChange {
        try await write(sync: .owed) { try $0.edits.move(action, to: queue, options) }.get()
    }

    package func moveToFront(
        _ action: ActionID,
        by queues: QueueTable = QueueTable()
    ) async throws(SluiceError) -> ActionChange {
        try await write(sync: .owed) { try $0.edits.moveToFront(action, by: queues) }.get()
    }

    /// If `kind` or `version` is `nil`, the action keeps its own.
    package func edit(
        _ action: ActionID,
        kind: String?,
        payload: String,
        version: Int?,
        replacing old: String? = nil,
        ifRunning: EditWhileRunning = .forNextAttempt
    ) async throws(SluiceError) -> ActionChange {
        try await write(sync: .owed) {
            try $0.edits.edit(
                action,
                kind: kind,
                payload: payload,
                version: version,
                replacing: old,
                ifRunning: ifRunning
            )
        }
    }

    /// `payload` is called inside the transaction, with the action's kind and version at that time.
    package func edit(
        _ action: ActionID,
        replacing old: String? = nil,
        ifRunning: EditWhileRunning = .forNextAttempt,
        payload: @escaping @Sendable (_ kind: String, _ version: Int) throws -> String
    ) async throws(SluiceError) -> ActionChange {
        try await write(sync: .owed) {
            guard let (kind, version) = try $0.edits.kind(of: action) else { return .missing }
            let new = try payload(kind, version)
            return try $0.edits.edit(
                action,
                kind: nil,
                payload: new,
                version: nil,
                replacing: old,
                ifRunning: ifRunning
            )
        }
    }

    package func reschedule(
        _ action: ActionID,
        notBefore: Timestamp?
    ) async throws(SluiceError) -> ActionChange {
        try await write(sync: .owed) { try $0.edits.reschedule(action, notBefore: notBefore) }
    }

    package func setExpiry(_ action: ActionID, _ time: Timestamp?) async throws(SluiceError) -> ActionChange {
        try await write(sync: .owed) { try $0.edits.setExpiry(action, time) }
    }

    package func setTag(_ action: ActionID, _ tag: String?) async throws(SluiceError) -> ActionChange {
        try await write(sync: .owed) { try $0.edits.setTag(action, tag) }
    }

    /// `discipline` is the queue's, as set in code; `nil` for the one recorded in the file.
    package func skipHead(
        of queue: QueueName,
        only action: ActionID? = nil,
        error: String?,
        by discipline: QueueDiscipline? = nil
    ) async throws(SluiceError) -> HeadSkip {
        try await write(sync: .owed) {
            try $0.skips.skipHead(of: queue, only: action, error: error, by: discipline)
        }
    }
}
