/// The groups of one action.
package struct ActionGroups: Sendable, Hashable {
    package var started: [GroupName] = []
    package var joined: [GroupName] = []

    package init(started: [GroupName] = [], joined: [GroupName] = []) {
        self.started = started
        self.joined = joined
    }

    mutating func add(_ name: GroupName, isStart: Bool) {
        if isStart { started.append(name) } else { joined.append(name) }
    }

    package var isEmpty: Bool { started.isEmpty && joined.isEmpty }
    /// The most groups that one action may start or be a member of: each is checked when the action is due.
    static let limit = 64

    func validate() throws(SluiceError) {
        for groups in [started, joined] {
            guard groups.count <= Self.limit else {
                let message = "an action has \(groups.count) groups; give it at most \(Self.limit)"
                throw SluiceError(.invalidOptions, message)
            }
            for group in groups { try group.validate() }
        }
    }
}
