internal import Synchronization

#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// How often this process has come out of a `fork`.
///
/// A connection must not be carried across one: "Do not open an SQLite database connection, then fork(2),
/// then try to use that database connection in the child process"
/// (<https://www.sqlite.org/howtocorrupt.html>, 2.6). Who holds one remembers the number and compares: a
/// load, where `getpid` would be a call of the system.
package enum ForkCounter {
    private static let count = Atomic(0)

    /// Touches the counter too, so that nothing is initialised in a child.
    private static let isInstalled: Bool = {
        count.store(0, ordering: .relaxed)
        return pthread_atfork(nil, nil, { ForkCounter.count.add(1, ordering: .relaxed) }) == 0
    }()

    /// Has forks counted from now on.
    package static func install() {
        let isInstalled = isInstalled
        assert(isInstalled, "pthread_atfork has no memory left")
    }

    package static var current: Int { count.load(ordering: .relaxed) }
}
