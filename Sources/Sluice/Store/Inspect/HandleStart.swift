/// Where a handle begins to read.
enum HandleStart: Sendable {
    case front
    /// The next to start, which is not in front while a pass is under way.
    case next
    case behind(Place)
}
