internal import Synchronization

#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// The number of forks between the first process and this one.
///
/// A connection must not be used after a fork: "Do not open an SQLite database connection, then fork(2), then
/// try to use that database connection in the child process" (<https://www.sqlite.org/howtocorrupt.html>,
/// 2.6). The owner of a connection remembers the number and compares. This is a load, while `getpid` would be
/// a system call.
package enum ForkCounter {
    private static let count = Atomic(0)

    /// Touches the counter too, so that nothing is initialised in a child.
    private static let isInstalled: Bool = {
        count.store(0, ordering: .relaxed)
        return pthread_atfork(nil, nil, { ForkCounter.count.add(1, ordering: .relaxed) }) == 0
    }()

    /// Begins to count forks.
    package static func install() {
        let isInstalled = isInstalled
        assert(isInstalled, "pthread_atfork has no memory left")
    }

    package static var current: Int { count.load(ordering: .relaxed) }
}
