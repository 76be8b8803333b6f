#if Web
import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHTTPTypes
import Synchronization
import TestSupport
import Testing

@testable import SluiceWeb

@Suite("Connections of the operator's page", .watched)
struct ConnectionsTests {
    /// One connection, which knows whether it has been closed.
    private final class Peer: Sendable {
        private let closings = Atomic(0)
        var isClosed: Bool { closings.load(ordering: .relaxed) > 0 }

        @discardableResult
        func open(_ connections: Connections, _ address: String = "192.0.2.1") -> Peer {
            connections.open(ObjectIdentifier(self), address) {
                self.closings.add(1, ordering: .relaxed)
            }
            return self
        }
    }

    private let connections = Connections(limit: 8, strangerLimit: 6, holderLimit: 3)

    @Test("A thousand silent connections end none of an operator, and each new one gets a place")
    func flood() {
        let operators = (0..<2).map { _ in Peer().open(connections) }
        for (index, peer) in operators.enumerated() { connections.know(ObjectIdentifier(peer), "\(index)") }
        let silent = (0..<1_000).map { _ in Peer().open(connections) }
        #expect(operators.allSatisfy { !$0.isClosed })
        #expect(silent.filter { !$0.isClosed }.count == 6)
        #expect(silent.suffix(6).allSatisfy { !$0.isClosed })
        #expect(connections.count == 8)
    }

    @Test("The address with the most connections gives way, and the one that has rested for the longest")
    func shares() {
        let alone = Peer().open(connections, "192.0.2.7")
        let many = (0..<5).map { _ in Peer().open(connections) }
        connections.set(ObjectIdentifier(many[0]), .busy)
        connections.set(ObjectIdentifier(many[1]), .idle)
        Peer().open(connections, "192.0.2.8")
        #expect(many.map(\.isClosed) == [false, false, true, false, false])
        #expect(!alone.isClosed)
    }

    @Test("Many that have sent requests end no new one that is about to, and many silent ones no answer")
    func phases() {
        for (phase, other) in [(Connections.Phase.busy, .silent), (.silent, .busy), (.idle, .busy)]
            as [(Connections.Phase, Connections.Phase)]
        {
            let connections = Connections(limit: 8, strangerLimit: 6, holderLimit: 3)
            let one = Peer().open(connections)
            connections.set(ObjectIdentifier(one), other)
            for _ in 0..<100 {
                let peer = Peer().open(connections)
                connections.set(ObjectIdentifier(peer), phase)
            }
            #expect(!one.isClosed)
        }
    }

    @Test("A request whose cookie is known belongs to its session before anybody handles it")
    func recognition() throws {
        let channel = EmbeddedChannel(handler: ConnectionHandler(connections) { $0.path })
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        try channel.writeInbound(
            HTTPRequestPart.head(.init(method: .get, scheme: "http", authority: "a", path: "ada"))
        )
        for _ in 0..<100 { Peer().open(connections) }
        channel.embeddedEventLoop.run()
        #expect(channel.isActive)
    }

    @Test("A session has its share, of which its oldest connection gives way")
    func sessions() {
        let peers = (0..<4).map { _ in Peer().open(connections) }
        for peer in peers { connections.know(ObjectIdentifier(peer), "ada") }
        #expect(peers.map(\.isClosed) == [true, false, false, false])
    }

    @Test("If all places are those of people, the one that has rested for the longest gives way")
    func knownOnly() {
        let peers = (0..<8).map { _ in Peer() }
        for (index, peer) in peers.enumerated() {
            peer.open(connections)
            connections.know(ObjectIdentifier(peer), "\(index / 2)")
            connections.set(ObjectIdentifier(peer), index == 0 ? .busy : .idle)
        }
        let new = Peer().open(connections)
        #expect(peers.map(\.isClosed) == [false, true] + Array(repeating: false, count: 6))
        connections.closed(ObjectIdentifier(new))
        #expect(connections.count == 7)
    }

    @Test("A connection without a whole request ends in time, one that is answered does not")
    func silence() throws {
        for isSilent in [true, false] {
            let channel = EmbeddedChannel(handler: ConnectionHandler(connections))
            try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
            if !isSilent {
                try channel.writeInbound(
                    HTTPRequestPart.head(.init(method: .get, scheme: "http", authority: "a", path: "/"))
                )
            }
            channel.embeddedEventLoop.advanceTime(by: ConnectionHandler.firstLimit + .seconds(600))
            #expect(channel.isActive == !isSilent)
            guard !isSilent else { continue }
            try channel.writeOutbound(HTTPResponsePart.end(nil))
            channel.embeddedEventLoop.advanceTime(by: ConnectionHandler.nextLimit - .seconds(1))
            #expect(channel.isActive)
            channel.embeddedEventLoop.advanceTime(by: .seconds(2))
            #expect(!channel.isActive)
        }
        #expect(connections.count == 0)
    }

    @Test("Live updates of a session end its own oldest, and of a full house those of the largest session")
    func seats() {
        let seats = LiveSeats(limit: 6, holderLimit: 4)
        let operators = ["ada", "bob"].map { seats.take($0) }
        var strangers = (0..<4).map { _ in seats.take("") }
        #expect((strangers + operators).allSatisfy { $0.isKept })
        strangers.append(seats.take(""))
        #expect(strangers.map(\.isKept) == [false, true, true, true, true])
        let other = seats.take("eve")
        #expect(strangers.map(\.isKept) == [false, false, true, true, true])
        #expect((operators + [other]).allSatisfy { $0.isKept })
        strangers.removeAll()
        // Places are given back.
        let more = (0..<3).map { seats.take("x\($0)") }
        #expect((operators + [other] + more).allSatisfy { $0.isKept })
    }

    @Test("What happens often is reported at once, and then together")
    func notices() {
        let reports = Mutex<[Int]>([])
        let notice = RareNotice { count in reports.withLock { $0.append(count) } }
        let start = ContinuousClock.now
        for _ in 0..<500 { notice.happened(at: start) }
        notice.happened(at: start + RareNotice.interval)
        #expect(reports.withLock { $0 } == [1, 500])
    }
}
#endif
