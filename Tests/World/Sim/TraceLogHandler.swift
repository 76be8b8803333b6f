import Logging

/// Writes what the engine of a process logs into the trace.
// Used by the one thread of the world that runs.
struct TraceLogHandler: LogHandler, @unchecked Sendable {
    let world: World
    var metadata: Logger.Metadata = [:]
    /// The same whether the trace is kept or not: what is to be logged is read first, which takes steps.
    var logLevel = Logger.Level.info

    init(_ world: World) { self.world = world }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let facts = metadata.merging(event.metadata ?? [:]) { $1 }.sorted { $0.key < $1.key }
        world.note("[\(event.level)] \(event.message)" + facts.map { " \($0.key)=\($0.value)" }.joined())
    }
}
