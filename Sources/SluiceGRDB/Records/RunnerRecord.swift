#if GRDB
public import GRDB
internal import Sluice

#if canImport(FoundationEssentials)
public import struct FoundationEssentials.Date
#else
public import struct Foundation.Date
#endif

/// A process that runs the queues of the file: a row of the view `sluice_runners`.
public struct RunnerRecord: FetchableRecord, TableRecord, Sendable, Hashable {
    /// The view.
    public static let databaseTableName = "sluice_runners"

    /// The process's number.
    public let process: Int
    /// How many actions it runs.
    public let running: Int
    /// When its lease ends, unless it is renewed.
    public let leaseUntil: Date

    /// The columns of the view.
    public enum Columns {
        /// See ``RunnerRecord/process``.
        public static let process = Column("pid")
        /// See ``RunnerRecord/running``.
        public static let running = Column("running")
        /// See ``RunnerRecord/leaseUntil``.
        public static let leaseUntil = Column("lease_until")
    }

    /// Reads a row of the view.
    ///
    /// - Throws: `SluiceError` for a value that only a newer version's view can have.
    public init(row: Row) throws {
        process = row["pid"]
        running = row["running"]
        leaseUntil = try row.requiredTime("lease_until")
    }
}
#endif
