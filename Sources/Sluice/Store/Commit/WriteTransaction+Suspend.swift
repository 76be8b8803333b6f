internal import SluiceSQLite

/// Continuing a transaction after a suspension.
extension WriteTransaction {
    /// Remembers which file it is, before the connection is closed for a while.
    func rememberFile() {
        guard !connection.isInMemory else { return }
        // Without a mark, the file is identified by device and inode alone.
        fileMark = try? FileMark(connection)
    }

    /// Continues another transaction on a newly opened connection, without its memory of the file.
    convenience init(continuing other: WriteTransaction, on connection: Connection) {
        let old = other.core
        self.init(
            connection: connection,
            nonce: old.nonce,
            identity: old.identity,
            leases: old.leases,
            clock: old.clock,
            writeBehind: old.order.limits,
            runners: old.runners,
            events: EventJournal(continuing: old.events, on: connection),
            settledActions: old.settledActions,
            ownSettlements: old.ownSettlements
        )
        core.epoch = old.epoch
        core.claimCount = old.claimCount
        core.others = old.others
        core.seenOpening = old.seenOpening
        core.life = old.life
        registry.resume(other.registry)
        core.followOrder()
    }
}
