/// A bounded buffer of events for an observer with callbacks.
protocol ObserverBuffer: Sendable {
    /// An event to add.
    associatedtype Input: Sendable
    /// An element for the observer.
    associatedtype Element: Sendable

    mutating func add(_ input: Input)
    mutating func pop() -> Element?
    mutating func removeAll()
}
