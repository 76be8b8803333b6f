/// A bounded buffer of events for an observer with callbacks.
protocol ObserverBuffer: Sendable {
    associatedtype Input: Sendable
    associatedtype Element: Sendable

    mutating func add(_ input: Input)
    mutating func pop() -> Element?
    mutating func removeAll()
}
