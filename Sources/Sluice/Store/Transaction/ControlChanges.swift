/// Kinds of changes other than to actions: holds and gates.
struct ControlChanges: OptionSet {
    let rawValue: Int
    static let holds = ControlChanges(rawValue: 1)
    static let gates = ControlChanges(rawValue: 2)
    /// How `sluice_changes` has them.
    static let kinds: [(ControlChanges, ForeignChange.Kind)] = [(holds, .hold), (gates, .gate)]
}
