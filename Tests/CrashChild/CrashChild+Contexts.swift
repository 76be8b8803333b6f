import Dispatch
import Foundation
import Sluice
import Synchronization
import TestSupport

#if canImport(Darwin)
import Darwin
#endif

extension CrashChild {
    /// `contexts FILE QUEUES ACTIONS`: runs so many actions in so many queues, the first of all queues at the
    /// same time, with the engine, the handlers and the callbacks each on a dispatch queue of this program's.
    ///
    /// Writes to standard output the most threads that there were, and what the callbacks have seen.
    static func useContexts(file: String, queues: Int, actions: Int) async throws {
        var options = BrokerOptions.silent
        options.concurrency = queues
        options.engineQueue = DispatchQueue(label: "engine", qos: .utility)
        options.handlerExecutor = DispatchExecutor(
            DispatchQueue(label: "handlers", qos: .userInitiated, attributes: .concurrent)
        )
        let broker = try await Broker(file: file, options: options)
        let (everybody, callbacks) = (Rendezvous(count: queues), Callbacks(expecting: actions))
        try broker.route("lane/*", Job.self) { job, attempt in
            if attempt.id.rawValue <= Int64(queues) { await everybody.meet() }
            callbacks.sample(attempt.id)
            return .success
        }
        let token = broker.observe(on: callbacks.queue, buffering: .bounded(40 * actions)) {
            callbacks.receive($0)
        }
        try await broker.enqueue((0..<actions).map { Job(lane: $0 % queues, isPoison: false) })
        try await broker.run {
            await broker.waitUntilIdle()
        }
        await broker.close()
        await callbacks.waitForAll()
        token.cancel()
        try FileHandle.standardOutput.write(contentsOf: Data(callbacks.report.utf8))
    }
}

/// What the application sees on the queue of its callbacks.
private final class Callbacks: Sendable {
    fileprivate struct State {
        var peak = 0
        var settled = 0
        var overlapping = 0
        var elsewhere = 0
        var disordered = 0
        var lost = 0
        /// The action of each queue that has started, or was the last to.
        var started: [QueueName: ActionID] = [:]
        var runs: Set<QueueName> = []
    }

    /// Concurrent: that callbacks come one at a time is the library's doing.
    let queue = DispatchQueue(label: "callbacks", attributes: .concurrent)
    private let key = DispatchSpecificKey<Bool>()
    private let depth = Atomic(0)
    private let state = Mutex(State())
    private let expected: Int
    private static let sampleCount = 300
    private let (all, end) = AsyncStream.makeStream(of: Void.self)

    init(expecting expected: Int) {
        self.expected = expected
        queue.setSpecific(key: key, value: true)
    }

    /// Returns when all actions have been seen to succeed.
    func waitForAll() async { for await _ in all {} }

    var report: String {
        state.withLock {
            """
            threads \($0.peak)
            settled \($0.settled)
            overlapping \($0.overlapping)
            elsewhere \($0.elsewhere)
            disordered \($0.disordered)
            lost \($0.lost)

            """
        }
    }

    /// Counts the threads, now and then: as often whatever the number of queues, so that counts compare.
    func sample(_ action: ActionID) {
        guard Int(action.rawValue) % max(expected / Self.sampleCount, 1) == 0 else { return }
        guard let count = Self.threadCount else { return }
        state.withLock { $0.peak = max($0.peak, count) }
    }

    func receive(_ element: ObservedEvent) {
        let isAlone = depth.add(1, ordering: .relaxed).newValue == 1
        let isHere = DispatchQueue.getSpecific(key: key) == true
        let settled = state.withLock { state in
            if !isAlone { state.overlapping += 1 }
            if !isHere { state.elsewhere += 1 }
            switch element {
            case .gap(let lost): state.lost += lost
            case .event(let event): state.take(event)
            }
            return state.settled
        }
        // While the engine works and no handler does, too.
        if case .event(let event) = element, event.kind == .succeeded, let action = event.action {
            sample(action)
        }
        depth.subtract(1, ordering: .relaxed)
        if settled == expected { end.finish() }
    }

    /// The threads of this process.
    private static var threadCount: Int? {
        #if canImport(Darwin)
        var threads: thread_act_array_t?
        var count: mach_msg_type_number_t = 0
        guard task_threads(mach_task_self_, &threads, &count) == KERN_SUCCESS else { return nil }
        return Int(count)
        #else
        return try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count
        #endif
    }
}

extension Callbacks.State {
    /// In each queue one action after the other starts and succeeds, in the order of their numbers.
    fileprivate mutating func take(_ event: QueueEvent) {
        guard let queue = event.queue, let action = event.action else { return }
        if event.kind == .started {
            let isNext = started[queue].map { $0.rawValue < action.rawValue } ?? true
            if !isNext || !runs.insert(queue).inserted { disordered += 1 }
            started[queue] = action
        } else if event.kind == .succeeded {
            settled += 1
            if started[queue] != action || runs.remove(queue) == nil { disordered += 1 }
        }
    }
}
