/// A task that the engine performs at intervals or at a time.
package enum Chore: Hashable, Sendable, CaseIterable {
    /// Renew the lease of this process.
    case renewLease
    /// Check whether the other processes that run the queues live, and poll queues that they had taken.
    case watchRunners
    /// Find all queues with work, since another process has left some.
    case pollOthers
    /// Check for commits of other connections.
    case lookForChanges
    /// Place due scheduled actions.
    case admitScheduled
    /// End expired actions, and delete ended deduplication keys.
    case sweep
    /// Retry undecodable actions, since the code has changed.
    case liftUndecodable
    /// Measure the file for metrics.
    case measure
    /// Make unsynced commits survive a loss of power.
    case sync
    /// Delete a hold that ends by itself.
    case endHolds
    /// Copy the WAL again, after a reader has prevented it.
    case checkpointWAL
    /// Truncate the WAL, so that no deleted data remains in it.
    case truncateWAL
    /// Find queues that have not moved for too long.
    case findStalled
    /// End the trial of suspects: waiting actions start.
    case endTrial
    /// End the time in which handlers may finish by themselves.
    case endGrace
}
