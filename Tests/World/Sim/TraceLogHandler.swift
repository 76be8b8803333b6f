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

    func log(
        level: Logger.Level,
        message: Logger.Message,
        metadata: Logger.Metadata?,
        source: String,
        file: String,
        function: String,
        line: UInt
    ) {
        let all = (metadata ?? [:]).merging(self.metadata) { own, _ in own }.sorted { $0.key < $1.key }
        let text = all.map { " \($0.key)=\($0.value)" }.joined()
        world.note("[\(level)] \(message)\(text)")
    }
}
