#if CommandLineTool
#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// A check that the system allows enough threads.
enum Threads {
    /// The threads that a verb needs beyond those at its start.
    private static let count = 8

    /// Refuses to go on without enough threads: Swift's tasks and signals would wait for them for ever.
    static func check() throws(Failure) {
        let gate = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
        defer { gate.deallocate() }
        pthread_mutex_init(gate, nil)
        pthread_mutex_lock(gate)
        var threads: [pthread_t] = []
        var code: Int32 = 0
        while code == 0, threads.count < count {
            #if canImport(Darwin)
            var thread: pthread_t?
            code = pthread_create(&thread, nil, { Self.passes($0) }, gate)
            if code == 0, let thread { threads.append(thread) }
            #else
            var thread = pthread_t()
            code = pthread_create(&thread, nil, { Self.passes($0) }, gate)
            if code == 0 { threads.append(thread) }
            #endif
        }
        pthread_mutex_unlock(gate)
        for thread in threads { pthread_join(thread, nil) }
        guard code == 0 else {
            let reason = String(cString: strerror(code))
            let words =
                code == EPERM
                ? "the system refuses threads: \(reason); a container's filter may not know clone3: use a "
                    + "newer runtime, or its profile without a filter"
                : "this user may have no more processes and threads: \(reason); raise `ulimit -u`, or "
                    + "TasksMax= of the service"
            throw Failure(.cannotOpen, words)
        }
    }

    /// The body of each thread, which waits until all exist.
    private static func passes(_ gate: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
        let gate = gate?.assumingMemoryBound(to: pthread_mutex_t.self)
        if let gate {
            pthread_mutex_lock(gate)
            pthread_mutex_unlock(gate)
        }
        return nil
    }
}
#endif
