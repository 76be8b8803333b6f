internal import SluiceSQLite

extension WriteTransaction {
    /// Notes which file it is, before the connection is closed for a while.
    func rememberFile() {
        guard !connection.isInMemory else { return }
        // Without a mark it is known by its number alone.
        fileMark = try? FileMark(connection)
    }

    /// Goes on where another has stopped, on a connection that has been opened since; what the other knew of
    /// the file is not believed.
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
