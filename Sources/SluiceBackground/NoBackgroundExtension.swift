/// An extension that is never granted, as on servers.
public struct NoBackgroundExtension: BackgroundExtension {
    /// Makes one.
    public init() {}

    /// Refuses.
    public func begin(expired: @escaping @Sendable () -> Void) -> Bool { false }

    /// Does nothing.
    public func end() {}
}
