/// Values that most actions lack, in a class, so that a draft without them is no larger.
package final class DraftExtras: Sendable {
    package let expiresAt: Timestamp?
    package let tag: String?
    package let gate: GateName?
    package let key: DeduplicationKey?
    package let groups: ActionGroups?

    package init(
        expiresAt: Timestamp? = nil,
        tag: String? = nil,
        gate: GateName? = nil,
        key: DeduplicationKey? = nil,
        groups: ActionGroups? = nil
    ) {
        self.groups = groups
        self.expiresAt = expiresAt
        self.tag = tag
        self.gate = gate
        self.key = key
    }
}

extension DraftExtras {
    /// Whether the file must be read before the action is stored.
    var isSingular: Bool { key != nil }
}
