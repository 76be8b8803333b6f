#if Web
internal import Synchronization

/// The open connections of a server; if there are too many, one is closed.
///
/// Connections without a login have a share of all places, which they share by address and by what they do:
/// many that have sent a request do not end one that is about to. The other places are for connections whose
/// requests have shown who they are. A new connection always gets a place: the one that has rested for the
/// longest is closed for it.
final class Connections: Sendable {
    /// What a connection does.
    enum Phase: Sendable {
        /// It has not sent a whole request.
        case silent
        /// Its request is being read or answered.
        case busy
        /// Its peer does not take the answer.
        case stalled
        /// It has been answered.
        case idle
    }

    struct Connection: Sendable {
        let address: String
        let close: @Sendable () -> Void
        var phase = Phase.silent
        var phaseStart = ContinuousClock.now
        /// The session or the person, after the first request of one who is known.
        var holder: String?

        fileprivate var share: Share { Share(address: address, phase: phase) }
    }

    /// What shares the places of those without a login.
    fileprivate struct Share: Hashable {
        let address: String
        let phase: Phase
    }

    /// The most connections.
    let limit: Int
    /// The most connections without a login.
    let strangerLimit: Int
    /// The most connections of a session; browsers open six.
    let holderLimit: Int

    fileprivate struct Memory: Sendable {
        var connections: [ObjectIdentifier: Connection] = [:]
    }

    private let memory = Mutex(Memory())
    private let closings: RareNotice

    init(limit: Int, strangerLimit: Int, holderLimit: Int, closings: RareNotice = RareNotice { _ in }) {
        (self.limit, self.strangerLimit) = (limit, strangerLimit)
        (self.holderLimit, self.closings) = (holderLimit, closings)
    }

    var count: Int { memory.withLock { $0.connections.count } }

    /// Adds a connection, and closes another if there are too many.
    func open(_ id: ObjectIdentifier, _ address: String, close: @escaping @Sendable () -> Void) {
        let leaving = memory.withLock { memory in
            memory.connections[id] = Connection(address: address, close: close)
            return memory.makeRoom(for: id, self)
        }
        end(leaving)
    }

    func closed(_ id: ObjectIdentifier) { memory.withLock { $0.connections[id] = nil } }

    func set(_ id: ObjectIdentifier, _ phase: Phase) {
        memory.withLock { memory in
            memory.connections[id]?.phase = phase
            memory.connections[id]?.phaseStart = .now
        }
    }

    /// Notes who a connection's request is from.
    func know(_ id: ObjectIdentifier, _ holder: String) {
        let leaving = memory.withLock { memory -> Connection? in
            guard memory.connections[id] != nil, memory.connections[id]?.holder != holder else { return nil }
            memory.connections[id]?.holder = holder
            let theirs = memory.connections.filter { $0.value.holder == holder && $0.key != id }
            return theirs.count >= holderLimit ? memory.remove(Memory.oldest(of: theirs)) : nil
        }
        end(leaving)
    }

    private func end(_ leaving: Connection?) {
        guard let leaving else { return }
        leaving.close()
        closings.happened()
    }
}

extension Connections.Memory {
    /// Removes the connection that is closed for a new one, if there are too many.
    fileprivate mutating func makeRoom(
        for id: ObjectIdentifier,
        _ limits: Connections
    ) -> Connections.Connection? {
        let strangers = connections.filter { $0.value.holder == nil && $0.key != id }
        if strangers.count >= limits.strangerLimit || connections.count > limits.limit {
            if let found = Self.oldest(of: Self.largestShare(of: strangers)) { return remove(found) }
        }
        guard connections.count > limits.limit else { return nil }
        let known = connections.filter { $0.key != id }
        let resting = known.filter { $0.value.phase != .busy }
        return remove(Self.oldest(of: resting.isEmpty ? known : resting))
    }

    /// Those of the address and the phase that have the most.
    private static func largestShare(
        of connections: [ObjectIdentifier: Connections.Connection]
    ) -> [ObjectIdentifier: Connections.Connection] {
        var counts: [Connections.Share: Int] = [:]
        for connection in connections.values { counts[connection.share, default: 0] += 1 }
        let most = counts.max { $0.value < $1.value }?.key
        return connections.filter { $0.value.share == most }
    }

    /// The one that has done nothing new for the longest.
    ///
    /// A connection that has just been opened is newer than live updates, which are busy for long.
    fileprivate static func oldest(
        of connections: [ObjectIdentifier: Connections.Connection]
    ) -> ObjectIdentifier? {
        connections.min { $0.value.phaseStart < $1.value.phaseStart }?.key
    }

    fileprivate mutating func remove(_ id: ObjectIdentifier?) -> Connections.Connection? {
        id.flatMap { connections.removeValue(forKey: $0) }
    }
}
#endif
