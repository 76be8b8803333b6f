internal import Foundation
internal import Synchronization

/// A proxy before a server's Unix socket, which cuts connections, holds back what passes, or loses an answer.
///
/// It works with threads that block; a test has some dozens of connections at most.
package final class SocketProxy: Sendable {
    package enum Mode: Sendable {
        case pass
        /// Nothing passes in either direction, and nothing is closed.
        case hold
        /// Each connection is closed as soon as it is made.
        case refuse
    }

    /// A client's connection and that to the server, which are closed when both directions have ended.
    private final class Pair: Sendable {
        let (client, server): (Int32, Int32)

        init(_ client: Int32, _ server: Int32) { (self.client, self.server) = (client, server) }

        func cut() {
            shutdown(client, Int32(SHUT_RDWR))
            shutdown(server, Int32(SHUT_RDWR))
        }

        deinit {
            close(client)
            close(server)
        }
    }

    private struct State {
        var mode = Mode.pass
        var pairs: [ObjectIdentifier: Pair] = [:]
        /// The answer that has these bytes in it is lost with its connection, once.
        var lost: Data?
        /// The connections that are held back, while later ones pass.
        var held: Set<ObjectIdentifier> = []
        var heldRequests = 0
        var isClosed = false
    }

    /// The folder of the socket, which `host` of a connection string names.
    package let folder: String
    private let target: String
    private let listener: Int32
    private let state = Mutex(State())
    private let changed = NSCondition()

    /// - Parameter server: The folder of the server's socket.
    package init(before server: String) throws {
        target = server + "/.s.PGSQL.5432"
        let name = "proxy-\(UInt32.random(in: 0 ... .max))"
        let place = FileManager.default.temporaryDirectory.appending(path: name)
        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
        folder = place.path
        listener = Self.socket()
        let isListening = Self.withAddress(folder + "/.s.PGSQL.5432") { address, size in
            bind(listener, address, size) == 0 && listen(listener, 64) == 0
        }
        guard isListening else { throw CocoaError(.fileWriteUnknown) }
        Thread.detachNewThread { self.accept() }
    }

    /// Ends the proxy and its connections.
    package func end() {
        state.withLock { $0.isClosed = true }
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
        set(.refuse)
        cut()
        try? FileManager.default.removeItem(atPath: folder)
    }

    package func set(_ mode: Mode) {
        state.withLock { $0.mode = mode }
        wake()
    }

    /// Holds back what passes on the connections that there are; later ones pass.
    package func holdConnections() { state.withLock { ($0.held, $0.heldRequests) = (Set($0.pairs.keys), 0) } }

    /// Delivers what was held back, also that of clients which have closed their connection.
    package func releaseConnections() {
        state.withLock { $0.held = [] }
        wake()
    }

    /// How many requests `holdConnections()` has held back.
    package var heldRequestCount: Int { state.withLock { $0.heldRequests } }

    private func wake() {
        changed.lock()
        changed.broadcast()
        changed.unlock()
    }

    /// Cuts all connections in the middle of what they do.
    package func cut() { for pair in state.withLock({ Array($0.pairs.values) }) { pair.cut() } }

    /// Loses the next answer of the server that has this text in it, and cuts its connection.
    package func loseAnswer(with text: String) { state.withLock { $0.lost = Data(text.utf8) } }

    /// Whether the answer has been lost.
    package var hasLostAnswer: Bool { state.withLock { $0.lost == nil } }

    private func accept() {
        while true {
            let client = Self.accept(listener)
            if client < 0 { return }
            let server = Self.socket()
            let isConnected =
                state.withLock { $0.mode != .refuse && !$0.isClosed }
                && Self.withAddress(target) { connect(server, $0, $1) == 0 }
            guard isConnected else {
                close(client)
                close(server)
                continue
            }
            let pair = Pair(client, server)
            state.withLock { $0.pairs[ObjectIdentifier(pair)] = pair }
            Thread.detachNewThread { self.pass(pair, from: client, to: server, isAnswer: false) }
            Thread.detachNewThread { self.pass(pair, from: server, to: client, isAnswer: true) }
        }
    }

    private func pass(_ pair: Pair, from source: Int32, to target: Int32, isAnswer: Bool) {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(source, &buffer, buffer.count)
            if count <= 0 { break }
            waitWhileHeld(pair, isAnswer: isAnswer)
            if isAnswer, isToBeLost(buffer[..<count]) { break }
            var sent = 0
            while sent < count {
                let written = buffer.withUnsafeBytes { bytes in
                    send(target, bytes.baseAddress.map { $0 + sent }, count - sent, Self.flags)
                }
                if written <= 0 { break }
                sent += written
            }
            if sent < count { break }
        }
        pair.cut()
        state.withLock { $0.pairs[ObjectIdentifier(pair)] = nil }
    }

    private func waitWhileHeld(_ pair: Pair, isAnswer: Bool) {
        let name = ObjectIdentifier(pair)
        state.withLock { if !isAnswer, $0.held.contains(name) { $0.heldRequests += 1 } }
        changed.lock()
        while state.withLock({ ($0.mode == .hold || $0.held.contains(name)) && !$0.isClosed }) {
            changed.wait()
        }
        changed.unlock()
    }

    private func isToBeLost(_ bytes: ArraySlice<UInt8>) -> Bool {
        state.withLock { state in
            guard let lost = state.lost, Data(bytes).range(of: lost) != nil else { return false }
            state.lost = nil
            return true
        }
    }

    #if os(Linux)
    private static let flags = Int32(MSG_NOSIGNAL)
    #else
    private static let flags: Int32 = 0
    #endif

    private static func accept(_ listener: Int32) -> Int32 { Foundation.accept(listener, nil, nil) }

    private static func socket() -> Int32 {
        #if os(Linux)
        Foundation.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        #else
        Foundation.socket(AF_UNIX, SOCK_STREAM, 0)
        #endif
    }

    private static func withAddress<Output>(
        _ path: String,
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> Output
    ) -> Output {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { bytes in
            precondition(path.utf8.count < bytes.count, "the path of a socket is too long: \(path)")
            bytes.copyBytes(from: path.utf8)
        }
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                body(pointer, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}
