internal import HashTreeCollections
internal import SluiceSQLite

extension Store {
    /// Returns the state of an action or dead letter, with its place but without reasons; or `nil`.
    func state(
        of action: ActionID,
        _ queues: QueueTable,
        _ payloads: PayloadReader
    ) async throws(SluiceError) -> ActionState? {
        try await readStates(payloads) { try $0.states([action], countedBy: queues).first }
    }

    /// Returns the states of actions and dead letters with a tag, with their places but without reasons.
    func states(
        tag: String,
        limit: Int,
        _ queues: QueueTable,
        _ payloads: PayloadReader
    ) async throws(SluiceError) -> [ActionState] {
        try await readStates(payloads) { reader in
            try reader.states(reader.actions(tag: tag, limit: limit), countedBy: queues)
        }
    }

    /// Reads what may have changed in a selection, in one snapshot.
    ///
    /// - Returns: The states of the selection, all or only states that may have changed, and the present or
    ///   last states of known actions that have left it.
    func states(
        of selection: ActionSelection.Form,
        _ dirty: DirtyStates,
        known: TreeDictionary<ActionID, ActionState>,
        _ payloads: PayloadReader
    ) async throws(SluiceError) -> (matching: [ActionState], gone: [ActionState]) {
        var (matching, gone) = try await readStates(payloads) { reader in
            var asked = dirty.actions
            if dirty.isAll {
                asked.formUnion(known.keys)
                switch selection {
                case .action(let id): asked.insert(id)
                case .tag(let tag): asked.formUnion(try reader.actions(tag: tag))
                case .queues(let form): asked.formUnion(try reader.actions(form))
                }
            }
            var (matching, gone): ([ActionState], [ActionState]) = ([], [])
            for state in try reader.states(asked) {
                asked.remove(state.id)
                if selection.matches(state) {
                    matching.append(state)
                } else if known[state.id] != nil {
                    gone.append(state)
                }
            }
            for action in asked.sorted() {
                guard var state = known[action] else { continue }
                state.phase = .ended(try dirty.ends[action] ?? reader.end(ofMissing: state))
                gone.append(state)
            }
            return (matching, gone)
        }
        try await resolveEnds(of: &gone)
        return (matching, gone)
    }

    /// Asks the writer for ends that the file does not tell.
    ///
    /// A read may see a commit before it is reported. The writer comes after it, and remembers its ends.
    private func resolveEnds(of gone: inout [ActionState]) async throws(SluiceError) {
        let unknown = Set(gone.lazy.filter { $0.phase == .ended(.unknown) }.map(\.id))
        guard !unknown.isEmpty, !isReadOnly else { return }
        let ends = try await write(sync: .later) { $0.core.ends(of: unknown) }
        for index in gone.indices {
            if let end = ends[gone[index].id] { gone[index].phase = .ended(end) }
        }
    }

    /// Returns how an action has ended; `nil` if it is in its queue.
    func end(of action: ActionID) async throws(SluiceError) -> ActionEnd? {
        if isReadOnly {
            return try await read { try DeduplicationKeys.hasSucceeded(action, $0) ? .succeeded : .unknown }
        }
        return try await write(sync: .later) {
            guard let end = try $0.core.end(of: action) else { return nil }
            // First the key: another process may have run a dead letter that was put back.
            return try DeduplicationKeys.hasSucceeded(action, $0.connection) ? .succeeded : end
        }
    }

    private func readStates<Output: Sendable>(
        _ payloads: PayloadReader,
        _ body: @escaping @Sendable (ActionStateReader) throws -> Output
    ) async throws(SluiceError) -> Output {
        let now = clock.now
        return try await read { [nonce, identity] connection in
            let living = try RunnerRow.living(connection, own: nonce, seenFrom: identity, at: now)
            return try body(
                ActionStateReader(
                    connection: connection,
                    now: now,
                    living: RunnerRow.epochs(living),
                    payloads: payloads
                )
            )
        }
    }
}

extension ActionStateReader {
    /// How an action has ended that is not in the file any more, as far as the file and its last state say.
    fileprivate func end(ofMissing last: ActionState) throws(SQLiteError) -> ActionEnd {
        if try DeduplicationKeys.hasSucceeded(last.id, connection) { return .succeeded }
        if case .dead(let cause, _) = last.phase { return .deadLettered(cause) }
        return .unknown
    }
}
