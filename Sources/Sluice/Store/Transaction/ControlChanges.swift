/// Kinds of changes other than to actions: holds and gates.
struct ControlChanges: OptionSet {
    let rawValue: Int
    static let holds = ControlChanges(rawValue: 1)
    static let gates = ControlChanges(rawValue: 2)
    /// Their names in `sluice_changes`.
    static let names = [(holds, "hold"), (gates, "gate")]
}
