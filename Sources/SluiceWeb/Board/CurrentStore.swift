#if Web
internal import Sluice
internal import Synchronization

/// The broker that the page works with: another one after its file was replaced, as by a restored backup.
final class CurrentStore: Sendable {
    /// The state of the store, in words without any of its facts.
    enum Health: String, Sendable {
        case ok
        case starting = "the queues are being read"
        case unreadable = "the store cannot be read"
        case reopening = "the file was replaced, and is being opened again"
        case replaced = "the file was replaced: start this program again"
    }

    private struct Memory: Sendable {
        var broker: Broker
        var loss: Health?
    }

    private let memory: Mutex<Memory>

    init(_ broker: Broker) { memory = Mutex(Memory(broker: broker)) }

    var broker: Broker { memory.withLock { $0.broker } }

    /// How the store was lost, until another broker takes its place.
    var loss: Health? { memory.withLock { $0.loss } }

    /// Notes that the file is another one; false if it is known.
    func lose(_ loss: Health) -> Bool {
        memory.withLock { memory in
            guard memory.loss == nil else { return false }
            memory.loss = loss
            return true
        }
    }

    func replace(by broker: Broker) { memory.withLock { $0 = Memory(broker: broker) } }
}

extension SluiceError {
    /// Whether a broker must be opened again.
    var isLoss: Bool { [.fileReplaced, .closed].contains(code) }
}
#endif
