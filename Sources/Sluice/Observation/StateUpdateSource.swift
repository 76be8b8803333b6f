/// The updates of one observation, by the engine that makes them.
package protocol StateUpdateSource<Element>: AnyObject, Sendable {
    associatedtype Element: Sendable
    /// Waits for the next update; `nil` is the end.
    func next() async throws(SluiceError) -> Element?
}
