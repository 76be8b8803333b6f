import Foundation
import Sluice
import Synchronization
import TestSupport

extension CrashChild {
    /// `fork FILE`: forks while the file is open, and has both processes go on with it.
    ///
    /// The child writes a line for each call, `CALL: ` and the code of its error; the parent then its own.
    static func fork(file: String) async throws {
        var broker: Broker? = try await Broker(file: file)
        try await broker?.enqueue(Job(lane: 1, isPoison: false))
        // Swift's module of the C library has the function only to say that one should not.
        typealias Fork = @convention(c) () -> pid_t
        guard let symbol = dlsym(nil, "fork") else { throw CrashChildError.usage }
        let child = unsafeBitCast(symbol, to: Fork.self)()
        guard child == 0 else {
            var status: Int32 = 0
            waitpid(child, &status, 0)
            say("child: \(status)")
            for lane in 2...3 { try await broker?.enqueue(Job(lane: lane, isPoison: false)) }
            say("parent: \(try await broker?.actionCount() ?? 0)")
            await broker?.close()
            return
        }
        // No other thread is left here: what does not return at once never does.
        tryEverything(broker)
        broker = nil
        say("dropped")
        _exit(0)
    }

    private static func tryEverything(_ broker: Broker?) {
        guard let broker else { return }
        let job = Job(lane: 4, isPoison: false)
        tell("enqueueBlocking") { _ = try broker.enqueueBlocking(job) }
        tell("enqueue") { _ = try await broker.enqueue(job) }
        tell("enqueue many") { _ = try await broker.enqueue([job, job]) }
        tell("status") { _ = try await broker.status(of: job.queue) }
        tell("actionCount") { _ = try await broker.actionCount() }
        tell("deadLetters") { _ = try await broker.deadLetters() }
        tell("hold") { _ = try await broker.hold("*", by: "child") }
        tell("health") { _ = try await broker.fileEngine.store.health() }
        tell("flush") { try await broker.file?.flush() }
        tell("backup") { try await broker.file?.backup(to: "/nowhere") }
        tell("resume") { try await broker.file?.resume() }
        tell("run") { try await broker.run() }
        tell("close") {
            await broker.waitUntilIdle()
            await broker.file?.suspend()
            await broker.stop()
            await broker.close()
            _ = try await broker.enqueue(job)
        }
    }

    /// Calls, and says what came of it on this very thread: there is no other one that could go on later.
    private static func tell(_ call: String, _ body: @escaping @Sendable () async throws -> Void) {
        let answer = Answer()
        Task.immediate {
            do {
                try await body()
                answer.text.withLock { $0 = "no error" }
            } catch {
                let code = (error as? SluiceError)?.code.description
                answer.text.withLock { $0 = code ?? "another error" }
            }
        }
        say("\(call): \(answer.text.withLock { $0 })")
    }

    private final class Answer: Sendable {
        let text = Mutex("it waits")
    }

    /// Writes a line to standard output at once.
    static func say(_ line: String) {
        let bytes = Array("\(line)\n".utf8)
        _ = write(STDOUT_FILENO, bytes, bytes.count)
    }

    /// `move DIRECTORY OTHER NAME`: opens a file by its bare name in one directory, and goes on in another
    /// one.
    ///
    /// It writes a line with what it sees in the file from there.
    static func moveAway(from directory: String, to other: String, name: String) async throws {
        guard chdir(directory) == 0 else { throw CrashChildError.usage }
        let job = Job(lane: 1, isPoison: false)
        let broker = try await Broker(file: name)
        try await broker.enqueue(job)
        guard chdir(other) == 0 else { throw CrashChildError.usage }
        try await broker.enqueue(job)
        await broker.file?.suspend()
        try await broker.file?.resume()
        try await broker.enqueue(job)
        let depth = try await broker.status(of: job.queue).depth
        let summaries = try await broker.actionSummaries(limit: 10).count
        let health = try await broker.fileEngine.store.health()
        try await broker.file?.backup(to: "copy.sqlite")
        try broker.route("lane/*", Job.self) { _, _ in .success }
        try await broker.run { await broker.waitUntilIdle() }
        let left = try await broker.actionCount()
        await broker.close()
        say("depth \(depth), summaries \(summaries), WAL \(health.walByteCount > 0), left \(left)")
    }

    /// `files FILE`: does with a file what a program does with it.
    static func useFile(_ file: String) async throws {
        let broker = try await Broker(file: file)
        try broker.route("lane/*", Job.self) { _, _ in .success }
        try await broker.run {
            for round in 0..<3 {
                try await broker.enqueue((0..<50).map { Job(lane: $0, isPoison: false) })
                _ = try await broker.statuses()
                _ = try await broker.fileEngine.store.health()
                await broker.waitUntilIdle()
                await broker.file?.suspend()
                try await broker.file?.resume()
                try await broker.file?.backup(to: "\(file).copy\(round)")
            }
        }
        await broker.close()
        var options = BrokerOptions.silent
        options.file.role = .readOnly
        let reader = try await Broker(file: file, options: options)
        _ = try await reader.actionCount()
        await reader.close()
    }
}
