#if PostgreSQL
package import Sluice

/// Facts about a server and a schema of queues, for the people who look after them.
package struct PostgresHealth: Sendable {
    /// A transaction that keeps deleted rows from being removed.
    package struct Snapshot: Sendable {
        /// The server's process, a prepared transaction or a replication slot.
        package var owner: String
        package var application: String
        package var state: String
        package var age: Duration
    }

    /// A table of the schema with many deleted rows.
    package struct Table: Sendable {
        package var name: String
        package var liveCount: Int64
        package var deadCount: Int64
        package var hasAutovacuum: Bool
    }

    /// A process that runs the queues.
    package struct Worker: Sendable {
        package var name: String
        package var runningCount: Int
        /// How long its lease lasts yet; negative when it is over.
        package var leaseLeft: Duration
    }

    package var place = ""
    /// As `server_version` has it.
    package var version = ""
    /// As `server_version_num` has it: 150004.
    package var versionNumber = 0
    package var database = ""
    package var user = ""
    /// How many steps the schema has, and how many this version of the library knows.
    package var stepCount = 0
    package var knownStepCount = 0
    package var isStandby = false
    /// Whether the role sees what other roles' sessions do.
    package var seesSessions = false
    /// Settings of the server for this role, by name.
    package var settings: [String: String] = [:]
    /// The oldest snapshots, the oldest first.
    package var snapshots: [Snapshot] = []
    package var preparedCount = 0
    package var tables: [Table] = []
    /// Standbys that confirm commits now.
    package var synchronousStandbyCount = 0
    /// Whether a notification arrived on a connection that listened.
    package var rings = false
    package var workers: [Worker] = []
    /// Why a worker could not run, if one was tried and could not.
    package var refusal: String?
    /// Rows that contradict each other.
    package var contradictions: [String] = []
    package var actionCount = 0
    package var deadLetterCount = 0
    package var holdCount = 0
    /// How many queues each state has.
    package var states: [QueueStatus.State: Int] = [:]
    /// How far this machine's clock is ahead of the server's, at least; zero within the time of a call.
    package var clockAhead: Duration = .zero

    package init() {}
}
#endif
