import Sluice

/// What keeps lines from starting, and since when for certain.
struct Bars {
    struct Bar {
        let since: Duration
    }

    private(set) var holds: [QueueName: [HoldID: Bar]] = [:]
    private(set) var gates: [GateName: Bar] = [:]

    mutating func add(_ hold: HoldID, on queue: QueueName, at time: Duration) {
        holds[queue, default: [:]][hold] = Bar(since: time)
    }

    mutating func end(_ hold: HoldID) { for queue in holds.keys { holds[queue]?[hold] = nil } }
    mutating func close(_ gate: GateName, at time: Duration) { gates[gate] = Bar(since: time) }
    mutating func open(_ gate: GateName) { gates[gate] = nil }

    /// Acts need not be safe when they return.
    mutating func powerLost() { self = Bars() }
}
