import Foundation
import Sluice
import Synchronization

/// What a scenario has done and been told, in order; kept in a file too where the process may be killed.
final class ScenarioHistory: Sendable {
    enum Entry: Equatable {
        /// An enqueue has begun, ended, failed, or ended with nobody knowing.
        case tries(Int, lane: String)
        case stored(Int)
        case refused(Int)
        case unknown(Int)
        case runs(Int, lane: String, action: Int64, attempt: Int)
        case ends(Int)
        /// The caller has been told that it is settled.
        case gone(Int)
    }

    private let state = Mutex<(entries: [Entry], errors: [String: Int], violations: [String])>(([], [:], []))
    private let log: Log?

    init(log: Log? = nil) { self.log = log }

    var entries: [Entry] { state.withLock { $0.entries } }

    /// Calls that have thrown, with the codes of their errors, and how many of each.
    var errors: [String: Int] { state.withLock { $0.errors } }

    /// What was found wrong on the way.
    var violations: [String] { state.withLock { $0.violations } }

    func append(_ entry: Entry) {
        state.withLock { state in
            state.entries.append(entry)
            // Within the lock, so that both have one order.
            do { try log?.append(entry.line) } catch { state.violations.append("the log: \(error)") }
        }
    }

    /// Notes an error that a caller got: it must be one of those that say what was the matter.
    func note(_ error: any Error, _ call: String) {
        let code = (error as? SluiceError)?.code
        state.withLock { state in
            state.errors["\(call) \(code?.description ?? "?")", default: 0] += 1
            guard code.map(Self.honest.contains) != true else { return }
            state.violations.append("\(call) threw \(error)")
        }
    }

    func report(_ violation: String) { state.withLock { $0.violations.append(violation) } }

    private static let honest: Set<SluiceError.Code> = [
        .inputOutput, .diskFull, .outOfMemory, .cannotOpen, .unknownCommit,
    ]
}

extension ScenarioHistory.Entry {
    var line: String {
        switch self {
        case .tries(let number, let lane): "tries \(number) \(lane)"
        case .stored(let number): "stored \(number)"
        case .refused(let number): "refused \(number)"
        case .unknown(let number): "unknown \(number)"
        case .runs(let number, let lane, let action, let attempt):
            "runs \(number) \(lane) \(action) \(attempt)"
        case .ends(let number): "ends \(number)"
        case .gone(let number): "gone \(number)"
        }
    }

    /// Reads a line of a log; `nil` for one that is none.
    init?(_ words: [Substring]) {
        guard words.count >= 2, let number = Int(words[1]) else { return nil }
        switch (words[0], words.count) {
        case ("tries", 3): self = .tries(number, lane: String(words[2]))
        case ("stored", 2): self = .stored(number)
        case ("refused", 2): self = .refused(number)
        case ("unknown", 2): self = .unknown(number)
        case ("runs", 5):
            guard let action = Int64(words[3]), let attempt = Int(words[4]) else { return nil }
            self = .runs(number, lane: String(words[2]), action: action, attempt: attempt)
        case ("ends", 2): self = .ends(number)
        case ("gone", 2): self = .gone(number)
        default: return nil
        }
    }
}
