/// The error of an attempt whose handler released its completion without calling it.
public struct CompletionDropped: Error, Sendable, CustomStringConvertible {
    /// What happened, in words.
    public var description: String { "the handler dropped its completion without calling it" }
}
