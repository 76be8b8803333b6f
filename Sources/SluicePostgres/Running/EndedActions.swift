#if PostgreSQL
internal import Sluice

/// How the last actions of this process have ended.
struct EndedActions {
    /// As many as a broker on a file remembers.
    private static let capacity = 4_096
    private var ends: [ActionID: ActionEnd] = [:]
    private var order: [ActionID] = []
    private var next = 0

    subscript(_ action: ActionID) -> ActionEnd? { ends[action] }

    mutating func note(_ action: ActionID, _ end: ActionEnd) {
        if ends.updateValue(end, forKey: action) != nil { return }
        if order.count < Self.capacity {
            order.append(action)
        } else {
            ends[order[next]] = nil
            order[next] = action
            next = (next + 1) % Self.capacity
        }
    }
}
#endif
