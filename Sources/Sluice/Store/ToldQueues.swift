internal import SluiceSQLite

/// What stands in the queues whose observers ask for the actions, as far as they know by what they were told.
///
/// Other processes log what wakes those that run the queues, and not all that comes and goes, nor anything
/// for who does not run them. So from time to time what the file has is compared with what was told.
struct ToldQueues {
    /// The most actions of a queue that are compared: a comparison reads the number of each.
    static let limit = 10_000
    /// The most changes that comparisons tell with one commit: their actions are in memory until observers
    /// have them.
    static let changeLimit = 1_000

    /// Queues that have been read; none with more actions than the limit.
    private var actions: [QueueName: Set<ActionID>] = [:]
    /// What the open transaction has changed, to be undone if it is rolled back.
    private var undo: [(queue: QueueName, action: ActionID, came: Bool)] = []
    /// What stood here before the open transaction has compared; `nil` if it has not.
    private var beforeComparing: [QueueName: Set<ActionID>]?
    /// Others have committed since the last comparison.
    var isStale = false

    var isEmpty: Bool { actions.isEmpty }

    /// What was told of a queue; `nil` before it was read.
    func told(of queue: QueueName) -> Set<ActionID>? { actions[queue] }

    /// Takes in what observers are told by an event.
    mutating func add(_ event: QueueEvent) {
        guard !actions.isEmpty, let action = event.action else { return }
        if let target = event.target { came(action, to: target) }
        guard let queue = event.queue else { return }
        switch event.kind {
        case .enqueued, .requeued: came(action, to: queue)
        case .taken, .deadLettered, .moved, .removed, .succeeded: went(action, from: queue)
        default: break
        }
    }

    private mutating func came(_ action: ActionID, to queue: QueueName) {
        guard let count = actions[queue]?.count else { return }
        // It has outgrown the limit, and is read again when it is compared next.
        guard count < Self.limit else {
            actions[queue] = nil
            return
        }
        if actions[queue]?.insert(action).inserted == true { note(queue, action, came: true) }
    }

    private mutating func went(_ action: ActionID, from queue: QueueName) {
        if actions[queue]?.remove(action) != nil { note(queue, action, came: false) }
    }

    private mutating func note(_ queue: QueueName, _ action: ActionID, came: Bool) {
        if beforeComparing == nil { undo.append((queue, action, came)) }
    }

    /// What observers know by now of the queues that are asked for; those with too many actions are missing.
    mutating func set(_ compared: [QueueName: Set<ActionID>]) {
        let now = compared
        undoAll()
        if beforeComparing == nil { beforeComparing = actions }
        actions = now
    }

    mutating func committed() {
        undo.removeAll()
        beforeComparing = nil
    }

    mutating func rollBack() {
        undoAll()
        if let beforeComparing { actions = beforeComparing }
        beforeComparing = nil
        isStale = true
    }

    private mutating func undoAll() {
        for change in undo.reversed() {
            if change.came {
                actions[change.queue]?.remove(change.action)
            } else {
                actions[change.queue]?.insert(change.action)
            }
        }
        undo.removeAll()
    }

    /// Nobody asks any more.
    mutating func removeAll() { self = ToldQueues() }
}

/// What a comparison has found out about an action, for the observers of a queue.
struct FoundChange: Sendable {
    let queue: QueueName
    let kind: QueueNoticeKind
    let id: ActionID
    let action: StoredAction?
}

extension Store {
    /// Compares, if somebody asks for the actions of a queue and something may be new.
    ///
    /// - Parameter areCommits: Whether somebody has committed since this was called last.
    func compareTold(ifDueBy areCommits: Bool) async throws(SluiceError) {
        guard lookout != nil, interest.contents != nil else { return }
        if areCommits { interest.setComparisonDue() }
        guard interest.takeComparison() else { return }
        do throws(SluiceError) {
            try await compareTold()
        } catch {
            interest.setComparisonDue()
            throw error
        }
    }

    /// Tells the observers of queues what has come and gone by others and was not told.
    package func compareTold() async throws(SluiceError) {
        while try await write(sync: .later, { try $0.compareTold() }) {}
    }
}

extension WriteTransaction {
    /// Compares what was told with what there is.
    ///
    /// What has gone and is still claimed is left to its end: whoever runs it tells how that went.
    ///
    /// - Returns: Whether there may be more to tell.
    func compareTold() throws(SQLiteError) -> Bool {
        guard let contents = journal.contents else { return false }
        // Another comparison may have found as much as one commit tells.
        let room = ToldQueues.changeLimit - contents.found.count
        guard room > 0 else { return true }
        var known: [QueueName: Set<ActionID>] = [:]
        var (came, gone): ([FoundPlace], [FoundPlace]) = ([], [])
        for name in contents.queues {
            guard let told = journal.told.told(of: name) else {
                known[name] = try actions(in: name)
                continue
            }
            known[name] = told
            guard journal.told.isStale else { continue }
            // With more than are compared it is read anew when it has fewer.
            guard let actions = try actions(in: name) else {
                known[name] = nil
                continue
            }
            came += actions.subtracting(told).sorted().map { FoundPlace(queue: name, action: $0) }
            for action in told.subtracting(actions).sorted() where try !isClaimed(action, in: name) {
                gone.append(FoundPlace(queue: name, action: action))
            }
        }
        let changes = gone.map { ($0, QueueNoticeKind.removed) } + came.map { ($0, QueueNoticeKind.added) }
        for (place, kind) in changes.prefix(room) {
            if kind == .added {
                known[place.queue]?.insert(place.action)
            } else {
                known[place.queue]?.remove(place.action)
            }
            let action = try StoredAction.read(place.action, on: connection)
            journal.add(FoundChange(queue: place.queue, kind: kind, id: place.action, action: action))
        }
        journal.told.set(known)
        journal.told.isStale = changes.count > room
        return journal.told.isStale
    }

    private struct FoundPlace {
        let queue: QueueName
        let action: ActionID
    }

    /// The actions of a queue; `nil` for more than are compared.
    private func actions(in name: QueueName) throws(SQLiteError) -> Set<ActionID>? {
        guard let queue = try knownQueue(named: name)?.id else { return [] }
        let found = try connection.cached("SELECT id FROM sluice_action_facts WHERE queue_id = ?1 LIMIT ?2")
            .bind(1, queue.rawValue).bind(2, ToldQueues.limit + 1).all { ActionID(rawValue: $0.int64(0)) }
        return found.count > ToldQueues.limit ? nil : Set(found)
    }

    private func isClaimed(_ action: ActionID, in name: QueueName) throws(SQLiteError) -> Bool {
        try connection.cached(
            """
            SELECT 1 FROM sluice_claim_rows AS c JOIN sluice_queue_rows AS q ON q.queue_id = c.queue_id
            WHERE q.name = ?1 AND c.action_id = ?2
            """
        )
        .bind(1, name.rawValue).bind(2, action.rawValue).hasRow()
    }
}
