#if CommandLineTool
internal import Foundation
internal import Logging
internal import Sluice
internal import Synchronization

/// Writes log messages of a run's engine that need a person to standard error.
struct RemarkLogHandler: LogHandler {
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.warning
    /// Whether each line has its time, for a program that runs long.
    var hasTime = false

    static var logger: Logger { Logger(label: "sluice") { _ in RemarkLogHandler() } }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let facts = metadata.merging(event.metadata ?? [:]) { $1 }
        guard let remark = Self.remark(event.message, facts) else { return }
        let time = hasTime ? Date.ISO8601FormatStyle(includingFractionalSeconds: true).format(.now) + " " : ""
        Terminal.remark(time + remark)
    }

    /// Patterns of which the run has said that they match nothing.
    private static let saidPatterns = Mutex<Set<String>>([])

    /// Notes that the run has said that patterns match nothing, which the log then does not repeat.
    static func hasSaid(_ patterns: [QueuePattern]) {
        saidPatterns.withLock { $0.formUnion(patterns.map(\.rawValue)) }
    }

    /// Returns a message with its facts by name; `nil` if it says what a run says too.
    static func remark(_ message: Logger.Message, _ facts: Logger.Metadata) -> String? {
        // The error ends the run, which reports it.
        if message == LogMessages.endOfRun { return nil }
        if message == LogMessages.unmatchedPattern, let pattern = facts["pattern"],
            saidPatterns.withLock({ $0.contains("\(pattern)") })
        {
            return nil
        }
        let words = facts.sorted { $0.key < $1.key }.map { "\($0.key)=\(quoted("\($0.value)"))" }
        return words.isEmpty ? "\(message)" : "\(message): \(words.joined(separator: " "))"
    }

    /// Returns a value as it is, or in quotes if it could not be told from the text around it.
    private static func quoted(_ value: String) -> String {
        guard value.isEmpty || value.contains(where: { $0.isWhitespace || $0 == "\"" || $0 == "=" }) else {
            return value
        }
        let escaped = value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        return "\"\(escaped)\""
    }
}
#endif
