enum HandleStart: Sendable {
    case front
    /// The next action to start, which is not the first one during a pass.
    case next
    case behind(Place)
}
