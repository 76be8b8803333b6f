import Dispatch
import Foundation
import Sluice
import Synchronization
import TestSupport

/// A file to which each line is added in one write, so that a kill leaves whole lines.
final class History: Sendable {
    /// The name of this life of this process.
    let process: String
    private let descriptor: Int32
    private let runs = Atomic(0)

    init(_ folder: String, process: String) throws {
        self.process = process
        descriptor = open(folder + "/" + process, O_WRONLY | O_APPEND | O_CREAT, 0o600)
        guard descriptor >= 0 else { throw HistoryWorkerError.usage }
    }

    func append(_ line: String) {
        let bytes = WholeLine.bytes(line)
        // A history that cannot be written is found by the checker, which misses what it should say.
        _ = write(descriptor, bytes, bytes.count)
    }

    /// Writes down each success that the broker tells of, which it does when that is committed.
    func followSuccesses(of broker: Broker) -> ObservationToken {
        broker.observe(on: DispatchQueue(label: "history.successes")) { [self] observed in
            guard case .event(let event) = observed, event.kind == .succeeded,
                let action = event.action, let queue = event.queue
            else { return }
            append("C\t\(HistoryWorker.now())\t\(queue)\t\(action)")
        }
    }

    /// The same where the broker tells of its events as a sequence.
    func followEvents(of broker: Broker) -> Task<Void, Never> {
        let events = broker.events(buffering: .bounded(100_000))
        return Task {
            for await observed in events {
                guard case .event(let event) = observed, event.kind == .succeeded,
                    let action = event.action, let queue = event.queue
                else { continue }
                append("C\t\(HistoryWorker.now())\t\(queue)\t\(action)")
            }
        }
    }

    /// The number of the next run of a handler, of this process alone.
    func nextRun() -> Int { runs.add(1, ordering: .relaxed).newValue }

    /// The last line that an earlier life of a worker has seen enqueued.
    static func lastEnqueued(in folder: String, index: Int) throws -> Int? {
        var last: Int?
        for name in try FileManager.default.contentsOfDirectory(atPath: folder)
        where name.hasPrefix("\(index).") {
            let text = try String(contentsOfFile: folder + "/" + name, encoding: .utf8)
            for line in text.split(separator: "\n") where line.hasPrefix("E\t") {
                last = max(last ?? 0, Int(line.split(separator: "\t")[3]) ?? 0)
            }
        }
        return last
    }
}

/// The lines that one worker enqueues: all of each of its conversations.
struct Share {
    let messages: [Message]

    private struct Line: Decodable {
        let conversation: String
        let sentAt: String
        let text: String
    }

    /// - Parameter last: The last line that it has enqueued already.
    init(conversations: String, count: Int, index: Int, workers: Int, last: Int?) throws {
        let lines = try Data(contentsOf: URL(fileURLWithPath: conversations))
            .split(separator: UInt8(ascii: "\n")).prefix(count)
        messages = try lines.enumerated().compactMap { number, data in
            guard number > last ?? -1 else { return nil }
            let line = try JSONDecoder().decode(Line.self, from: data)
            let sum = line.conversation.utf8.reduce(0) { $0 &* 31 &+ Int($1) } & 0xFFFF
            guard sum % workers == index else { return nil }
            return Message(
                conversation: line.conversation,
                sentAt: line.sentAt,
                text: line.text,
                line: number
            )
        }
    }
}

/// Something that tasks wait for.
final class Occasion: Sendable {
    private let state = Mutex<(hasEnded: Bool, tasks: [CheckedContinuation<Void, Never>])>((false, []))

    func end() {
        let tasks = state.withLock { state in
            state.hasEnded = true
            defer { state.tasks = [] }
            return state.tasks
        }
        for task in tasks { task.resume() }
    }

    func ended() async {
        await withCheckedContinuation { continuation in
            let hasEnded = state.withLock { state in
                if !state.hasEnded { state.tasks.append(continuation) }
                return state.hasEnded
            }
            if hasEnded { continuation.resume() }
        }
    }
}

/// SplitMix64: numbers that a seed fixes.
struct Mixer {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

extension SystemClock {
    /// This is a program that takes time as an application would, not a test that waits.
    static func sleep(_ duration: Duration) async throws {
        let clock = SystemClock()
        try await clock.sleep(untilUptime: clock.uptime + duration)
    }
}
