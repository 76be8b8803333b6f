#if CommandLineTool
internal import Synchronization

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// The process group of a command.
///
/// The shell that leads it may end before what it has started: an attempt is over when all of it is.
final class ProcessGroup: Sendable {
    /// How often it is looked at while it ends: the system tells of the end of children alone.
    private static let interval: Duration = .milliseconds(10)
    /// How long SIGKILL may take.
    private static let killTime: Duration = .seconds(1)

    private let id = Mutex<pid_t?>(nil)

    /// The command has been started, as the leader of the group.
    func begin(_ leader: pid_t) {
        id.withLock { $0 = leader }
    }

    /// Returns when nothing of the group is left, whether the task is cancelled or not.
    ///
    /// What is left when `patience` ends is killed. The leader must have ended, and been asked for.
    func end(patience: Duration) async {
        guard let group = id.withLock({ $0.take() }) else { return }
        await Task.detached {
            if await Self.isGone(group, within: patience) { return }
            kill(-group, SIGKILL)
            _ = await Self.isGone(group, within: Self.killTime)
        }.value
    }

    private static func isGone(_ group: pid_t, within duration: Duration) async -> Bool {
        let deadline = ContinuousClock.now + duration
        while isAlive(group) {
            guard ContinuousClock.now < deadline else { return false }
            try? await Task.sleep(for: interval)
        }
        return true
    }

    private static func isAlive(_ group: pid_t) -> Bool {
        guard kill(-group, 0) == 0 else { return false }
        #if os(Linux)
        // It counts what has ended and waits for its parent to ask, which the system's first process may do
        // late.
        guard let processes = try? FileManager.default.contentsOfDirectory(atPath: "/proc") else {
            return true
        }
        return processes.contains { isAlive($0, in: group) }
        #else
        return true
        #endif
    }

    /// Whether a process belongs to a group and has not ended.
    private static func isAlive(_ process: String, in group: pid_t) -> Bool {
        guard
            Int(process) != nil,
            let status = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8),
            // The name, in parentheses, may hold anything; state, parent and group stand behind it (proc(5)).
            let name = status.lastIndex(of: ")")
        else { return false }
        let fields = status[name...].split(separator: " ").prefix(4)
        guard fields.count == 4, fields[3] == String(group) else { return false }
        return fields[1] != "Z" && fields[1] != "X"
    }
}
#endif
