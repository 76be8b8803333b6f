#if CommandLineTool
internal import Sluice
internal import Subprocess
internal import SystemPackage

/// Runs a command for each attempt and reads the outcome from its exit status.
struct CommandHandler: Sendable {
    /// Exit statuses with a meaning of their own, as sysexits.h has them.
    private enum Status {
        static let success: Int32 = 0
        static let permanentFailure: Int32 = 65
        static let retry: Int32 = 75
    }

    /// The longest line of a command's output that is passed on.
    private static let maximumLineByteCount = 1_024 * 1_024

    let command: String
    /// How long a command may take to end after SIGTERM.
    let patience: Duration

    func handle(_ payload: String, _ attempt: Attempt) async throws -> Outcome {
        let group = ProcessGroup()
        do {
            let outcome = try await run(payload, attempt, group)
            if Task.isCancelled { await group.end(patience: patience) }
            return outcome
        } catch {
            // What the command has started may heed SIGTERM more slowly than the shell, or not at all.
            if Task.isCancelled { await group.end(patience: patience) }
            throw error
        }
    }

    private func run(_ payload: String, _ attempt: Attempt, _ group: ProcessGroup) async throws -> Outcome {
        let result = try await Subprocess.run(
            .path("/bin/sh"),
            arguments: ["-c", command],
            environment: .inherit.updating(Self.environment(attempt)),
            platformOptions: HandlerSession.platformOptions(patience: patience),
            input: .inputWriter,
            output: .sequence,
            error: .currentStandardError
        ) { execution in
            group.begin(execution.processIdentifier.value)
            // Both at once: a command may write before it has read all.
            return try await withThrowingTaskGroup(of: Void.self) { tasks in
                tasks.addTask { await Self.write(payload, to: execution.standardInputWriter) }
                return try await Self.passOn(execution.standardOutput)
            }
        }
        switch result.terminationStatus {
        case .exited(Status.success): return .success
        case .exited(Status.permanentFailure): return .fail("the command ended with status 65")
        case .exited(Status.retry):
            return result.closureResult.map { .retry(after: $0) } ?? .retry
        case let status: throw CommandEnded(status: status)
        }
    }

    private static func environment(_ attempt: Attempt) -> [Environment.Key: String?] {
        [
            "SLUICE_QUEUE": attempt.queue.rawValue,
            "SLUICE_ID": attempt.id.description,
            "SLUICE_KIND": attempt.kind,
            "SLUICE_ATTEMPT": String(attempt.number),
            "SLUICE_IDEMPOTENCY_KEY": attempt.idempotencyKey,
        ]
    }

    /// Hands over the payload.
    ///
    /// A command that does not want all of it is free to end.
    private static func write(_ payload: String, to input: StandardInputWriter) async {
        _ = try? await input.write(Array(payload.utf8))
        try? await input.finish()
    }

    /// Passes output on, line by line.
    ///
    /// - Returns: What the last line `retry-after: SECONDS` says.
    private static func passOn(_ output: SubprocessOutputSequence) async throws -> Duration? {
        var splitter = LineSplitter(maximumByteCount: maximumLineByteCount)
        var delay: Duration?
        func take(_ line: LineSplitter.Line) {
            switch line {
            case .tooLong:
                Terminal.remark("a command's line of more than \(maximumLineByteCount) bytes is left out")
            case .bytes(let bytes):
                if let seconds = retryAfter(bytes) { delay = seconds } else { Terminal.pass(bytes) }
            }
        }
        for try await piece in output {
            piece.withUnsafeBytes { splitter.take($0, take) }
        }
        if let last = splitter.takeLast() { take(last) }
        return delay
    }

    private static func retryAfter(_ line: [UInt8]) -> Duration? {
        let parts = String(decoding: line, as: UTF8.self).split(separator: ":", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "retry-after" else { return nil }
        guard let seconds = Double(parts[1].trimmingSpaces), seconds.isFinite else { return nil }
        return .seconds(min(max(seconds, 0), Seconds.longest))
    }
}

/// Limits of what a handler can ask for.
enum Seconds {
    /// A hundred years, the library's own limit; a `Duration` made of much more would trap.
    static let longest = 3_155_760_000.0
}

/// A command ended with a status that has no meaning of its own.
struct CommandEnded: Error, CustomStringConvertible {
    let status: TerminationStatus

    var description: String {
        switch status {
        case .exited(let code): "the command ended with status \(code)"
        case .signaled(let signal): "signal \(signal) ended the command"
        }
    }
}

extension Substring {
    fileprivate var trimmingSpaces: Substring {
        let start = drop { $0 == " " || $0 == "\t" }
        return start[
            ..<(start.lastIndex { $0 != " " && $0 != "\t" }.map(start.index(after:)) ?? start.startIndex)
        ]
    }
}
#endif
