#if CommandLineTool && Web
internal import Sluice
internal import Synchronization

/// The broker of `sluice serve`: another one after its file was replaced.
final class ServedBroker: Sendable {
    private let memory: Mutex<Broker>
    private let store: StoreOption
    private let options: BrokerOptions

    init(_ broker: Broker, _ store: StoreOption, _ options: BrokerOptions) {
        memory = Mutex(broker)
        (self.store, self.options) = (store, options)
    }

    var current: Broker { memory.withLock { $0 } }

    /// Closes the broker, and opens another one on the file that the path leads to now.
    func reopen() async throws -> Broker {
        await current.close()
        let broker = try await store.openExisting(options)
        memory.withLock { $0 = broker }
        return broker
    }
}
#endif
