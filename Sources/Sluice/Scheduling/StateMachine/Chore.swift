/// A task that the engine performs at intervals or at a time.
package enum Chore: Hashable, Sendable, CaseIterable {
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
    case measure
    /// Make unsynced commits survive a loss of power.
    case sync
    /// End holds whose time has passed, and open gates that were closed until now.
    case endControls
    /// Copy the WAL again, after a reader has prevented it.
    case checkpointWAL
    /// Truncate the WAL, so that no deleted data remains in it.
    case truncateWAL
    case findStalled
    /// Write this process's routes, for others to see.
    case showRoutes
    /// Warn of queues without a route and gates that nobody has opened.
    case reportOversights
    /// Warn if nothing runs the queues that somebody waits for.
    case findRunner
    /// End the trial of suspects: waiting actions start.
    case endTrial
    /// End the time in which handlers may finish by themselves.
    case endGrace
}
