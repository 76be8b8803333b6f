#if CommandLineTool
internal import Foundation
internal import Logging

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
        let facts = metadata.merging(event.metadata ?? [:]) { $1 }.sorted { $0.key < $1.key }
            .map { "\($0.key)=\($0.value)" }.joined(separator: " ")
        let time = hasTime ? Date.ISO8601FormatStyle(includingFractionalSeconds: true).format(.now) + " " : ""
        Terminal.remark("\(time)\(event.message)" + (facts.isEmpty ? "" : ": \(facts)"))
    }
}
#endif
