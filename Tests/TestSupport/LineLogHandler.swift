package import Logging
package import SluiceTestKit

/// A log handler that keeps every line with its level and metadata.
package struct LineLogHandler: LogHandler {
    package let lines: EventLog<String>
    package var metadata: Logger.Metadata = [:]
    package var logLevel: Logger.Level = .trace

    package init(lines: EventLog<String>) { self.lines = lines }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        let facts = (event.metadata ?? [:]).merging(metadata) { first, _ in first }
            .map { "\($0.key)=\($0.value)" }.sorted()
        lines.append("\(event.level) \(event.message) \(facts.joined(separator: " "))")
    }
}

/// A log handler that lets a test act at the moment of a line.
private struct MomentLogHandler: LogHandler {
    let line: String
    let action: @Sendable () -> Void
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level = .trace

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) { if "\(event.message)" == line { action() } }
}

extension Logger {
    /// One that does something when a line is logged, and nothing else.
    package static func acting(at line: String, _ action: @escaping @Sendable () -> Void) -> Logger {
        Logger(label: "test", factory: { _ in MomentLogHandler(line: line, action: action) })
    }

    /// One that keeps its lines, from a level on.
    package static func keeping(_ lines: EventLog<String>, from level: Logger.Level = .trace) -> Logger {
        var logger = Logger(label: "test", factory: { _ in LineLogHandler(lines: lines) })
        logger.logLevel = level
        return logger
    }
}
