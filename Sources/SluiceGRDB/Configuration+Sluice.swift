#if GRDB
public import GRDB

extension Configuration {
    /// Has the connections be opened as a database with queues wants it.
    ///
    /// ```swift
    /// var configuration = Configuration()
    /// configuration.prepareForSluice()
    /// let pool = try DatabasePool(path: path, configuration: configuration)
    /// ```
    ///
    /// - A write waits for others, ten seconds at most, where the configuration has GRDB's `immediateError`:
    ///   a broker's commit would be an error else.
    /// - A file that is made by this opening gives back the space of what has gone (`auto_vacuum =
    ///   INCREMENTAL`), as one that a broker makes. In a file that exists nothing is changed by that.
    ///
    /// It is no substitute for what `Broker(sharing:)` sets: GRDB sets `synchronous = NORMAL` on pools after
    /// anything that a configuration can do.
    public mutating func prepareForSluice() {
        if case .immediateError = busyMode { busyMode = .timeout(10) }
        prepareDatabase { db in
            guard !db.configuration.readonly else { return }
            try db.execute(sql: "PRAGMA auto_vacuum = INCREMENTAL")
        }
    }
}
#endif
