#if GRDB
public import GRDB

extension Configuration {
    /// Configures connections for a database with queues.
    ///
    /// ```swift
    /// var configuration = Configuration()
    /// configuration.prepareForSluice()
    /// let pool = try DatabasePool(path: path, configuration: configuration)
    /// ```
    ///
    /// - If the configuration has GRDB's `immediateError`, writes wait for others, at most ten seconds;
    ///   otherwise a commit of the broker would cause an error.
    /// - A new file returns the space of deleted rows (`auto_vacuum = INCREMENTAL`), like a file created by a
    ///   broker. An existing file is not changed.
    ///
    /// This does not replace the settings of `Broker(sharing:)`: GRDB sets `synchronous = NORMAL` on pools
    /// after all code of a configuration.
    public mutating func prepareForSluice() {
        if case .immediateError = busyMode { busyMode = .timeout(10) }
        prepareDatabase { db in
            guard !db.configuration.readonly else { return }
            try db.execute(sql: "PRAGMA auto_vacuum = INCREMENTAL")
        }
    }
}
#endif
