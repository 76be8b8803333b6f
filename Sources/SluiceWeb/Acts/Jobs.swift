#if Web
internal import Synchronization

/// The jobs that were started on this page.
final class Jobs: Sendable {
    private struct Memory: Sendable {
        var jobs: [Job] = []
        var count = 0
    }

    /// Older ones are forgotten.
    private static let limit = 100

    private let memory = Mutex(Memory())
    /// A part of the names of its jobs: each process begins with number 1.
    private let mark: String
    private let starts: AsyncStream<@Sendable () async -> Void>
    private let starter: AsyncStream<@Sendable () async -> Void>.Continuation

    init() {
        let number = UInt32.random(in: .min ... .max)
        mark = String(repeating: "0", count: number.leadingZeroBitCount / 4) + String(number, radix: 16)
        (starts, starter) = AsyncStream.makeStream()
    }

    /// Whether a job of the audit log is one of these.
    func has(_ name: String) -> Bool { name.hasSuffix("-\(mark)") }

    /// The newest first.
    var all: [Job] { memory.withLock { $0.jobs.reversed() } }

    subscript(id: Int) -> Job? { memory.withLock { $0.jobs.first { $0.id == id } } }

    /// Makes a job, which ``run()`` runs.
    func start(
        _ sentence: String,
        by person: Operator,
        total: Int,
        place: String,
        _ work: @escaping @Sendable (Job) async -> Void
    ) -> Job {
        let job = memory.withLock { memory in
            memory.count += 1
            let name = "\(memory.count)-\(mark)"
            let job = Job(id: memory.count, name: name, sentence, by: person, total: total, place: place)
            memory.jobs.append(job)
            if memory.jobs.count > Self.limit,
                let index = memory.jobs.firstIndex(where: { $0.now.end != nil })
            {
                memory.jobs.remove(at: index)
            }
            return job
        }
        starter.yield { await work(job) }
        return job
    }

    /// Stops all after their current batches.
    func stopAll() { for job in all where job.now.end == nil { job.stop() } }

    /// Runs the jobs that are started until the task is cancelled, which stops them.
    func run() async {
        await withDiscardingTaskGroup { group in
            for await work in starts { group.addTask { await work() } }
        }
    }
}
#endif
