/// What may have changed besides actions.
struct ControlChanges: OptionSet {
    let rawValue: Int

    static let holds = ControlChanges(rawValue: 1)
    static let gates = ControlChanges(rawValue: 2)

    /// As `sluice_changes` names them.
    static let names = [(holds, "hold"), (gates, "gate")]
}
