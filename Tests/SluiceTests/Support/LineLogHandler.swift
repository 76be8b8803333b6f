import Logging
import SluiceTestKit

/// A log handler that keeps every line with its level and metadata.
struct LineLogHandler: LogHandler {
    let lines: EventLog<String>
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level = .trace

    init(lines: EventLog<String>) { self.lines = lines }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let facts = (event.metadata ?? [:]).merging(metadata) { first, _ in first }
            .map { "\($0.key)=\($0.value)" }.sorted()
        lines.append("\(event.level) \(event.message) \(facts.joined(separator: " "))")
    }
}

extension Logger {
    /// One that keeps its lines, from a level on.
    static func keeping(_ lines: EventLog<String>, from level: Logger.Level = .trace) -> Logger {
        var logger = Logger(label: "test", factory: { _ in LineLogHandler(lines: lines) })
        logger.logLevel = level
        return logger
    }
}
