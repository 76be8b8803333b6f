internal import HeapModule

/// Something the engine does from time to time.
package enum Chore: Hashable, Sendable, CaseIterable {
    /// Renew the right to run the queues.
    case renewLease
    /// Look whether the other processes that run the queues live, and at what they had taken.
    case watchRunners
    /// Find all queues with work: another process has left its own to whoever looks.
    case lookAround
    /// Look for commits of other connections.
    case lookForChanges
    /// Give scheduled actions that are due their place.
    case admitScheduled
    /// Set aside what has expired, and remove deduplication keys whose time is over.
    case sweep
    /// Try again what did not decode: the code has changed since.
    case liftUndecodable
    /// Look at what stands in the file, for metrics.
    case measure
    /// Make commits that were not synced survive a loss of power.
    case sync
    /// A hold ends by itself.
    case endHolds
    /// Copy the log again, which a reader had kept from being copied.
    case checkpointWAL
    /// Cut the log to nothing: what was deleted is not to stay in it.
    case truncateWAL
    /// Look for queues that have stood still for too long.
    case findStalled
    /// Suspects have been tried for long enough: what waits for them starts.
    case endTrial
    /// The time that handlers had to finish by themselves is over.
    case endGrace
}
