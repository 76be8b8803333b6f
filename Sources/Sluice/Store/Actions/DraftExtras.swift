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
        (self.expiresAt, self.tag, self.gate, self.key, self.groups) = (expiresAt, tag, gate, key, groups)
    }
}
