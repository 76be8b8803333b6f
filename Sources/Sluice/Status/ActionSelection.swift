/// Which actions and dead letters an observation covers: one, those with a tag, or those in some queues.
public struct ActionSelection: Sendable, Hashable {
    private enum Value: Sendable, Hashable {
        case action(ActionID)
        case tag(String)
        case queue(QueueName)
        case pattern(QueuePattern)
    }

    /// A selection whose names have been checked.
    package enum Form: Sendable {
        case action(ActionID)
        case tag(String)
        case queues(QueuePattern.Form)
    }

    private let value: Value

    /// One action, in any queue.
    public static func action(_ id: ActionID) -> ActionSelection { ActionSelection(value: .action(id)) }
    /// The actions with a tag, in any queue.
    public static func tag(_ tag: String) -> ActionSelection { ActionSelection(value: .tag(tag)) }
    /// The actions of a queue.
    public static func queue(_ name: QueueName) -> ActionSelection { ActionSelection(value: .queue(name)) }

    /// The actions of the queues that match a pattern; all actions if it is ``QueuePattern/all``.
    public static func matching(_ pattern: QueuePattern) -> ActionSelection {
        ActionSelection(value: .pattern(pattern))
    }

    /// The action, of a selection of one.
    package var action: ActionID? { if case .action(let id) = value { id } else { nil } }

    /// The queues, of a selection by them.
    package var pattern: QueuePattern? {
        switch value {
        case .action, .tag: nil
        case .queue(let name): QueuePattern(name.rawValue)
        case .pattern(let pattern): pattern
        }
    }

    package var tag: String? { if case .tag(let tag) = value { tag } else { nil } }

    func form() throws(SluiceError) -> Form {
        switch value {
        case .action(let id): return .action(id)
        case .tag(let tag): return .tag(tag)
        case .queue(let name):
            try name.validate()
            return .queues(.exact(name))
        case .pattern(let pattern): return .queues(try pattern.form())
        }
    }
}
