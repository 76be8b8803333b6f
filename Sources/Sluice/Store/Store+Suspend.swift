internal import SluiceSQLite
internal import Synchronization

/// Letting go of the file for a while.
extension Store {
    /// Closes all connections; writes and reads that come wait.
    func suspend() async {
        await backups.end(
            SluiceError(.suspended, "the broker was suspended; copy the file when it is resumed")
        )
        check.disconnects()
        await lookout?.suspend()
        await reader?.suspend()
        let address = writerAddress.load(ordering: .acquiring)
        await writer.suspend()
        registration?.rest()
        // A connection of the application's may get it meanwhile.
        _ = writerAddress.compareExchange(expected: address, desired: 0, ordering: .acquiringAndReleasing)
    }

    /// Opens the file again, and goes on with what waits.
    ///
    /// - Throws: What opening throws, and ``SluiceError/Code/fileReplaced``. What waits waits on then, unless
    ///   it waits in vain.
    func resume() async throws(SluiceError) {
        if isReadOnly {
            try check.look()
            registration?.wake()
        }
        do {
            try await writer.resume { [self] suspended throws(SluiceError) in try reopen(suspended) }
        } catch {
            // Reads that wait in vain are to be told so too.
            if check.refusal != nil { reader?.resume() }
            throw error
        }
        reader?.resume()
        await lookout?.resume()
        backups.allow()
    }

    private func reopen(_ suspended: GroupCommitter) throws(SluiceError) -> GroupCommitter {
        do throws(SluiceError) {
            try check.look()
            if case .file(let path) = location { try DatabaseFile.checkMount(path, mountFacts(path)) }
            let connection = try file.open(now: clock.now)
            if let known = suspended.transaction.fileMark, try !known.fits(connection) {
                // It has the number of the one that was opened, which has gone.
                connection.setCheckpointOnClose(false)
                connection.close()
                throw SluiceError(
                    .fileReplaced,
                    "the file was replaced while the broker was suspended; close it and open it again"
                )
            }
            writerAddress.store(Int(bitPattern: connection.rawHandle), ordering: .releasing)
            check.connected(logPath: logPath)
            return GroupCommitter(continuing: suspended, on: connection)
        } catch {
            if error.endsBroker { check.fail(error) }
            throw error
        }
    }
}

/// What tells a file of queues from others, and from an older copy of itself.
struct FileMark: Hashable {
    /// When each step of its schema was applied.
    private let migrations: String?
    /// The last number that an action got.
    private let lastAction: Int64

    init(_ connection: Connection) throws {
        migrations =
            try connection.prepare("SELECT group_concat(applied_at_us, ' ') FROM sluice_migrations")
            .first { $0.optionalText(0) } ?? nil
        lastAction =
            try connection.prepare("SELECT value FROM sluice_counters WHERE name = 'action'")
            .first { $0.int64(0) } ?? 0
    }

    /// Whether a connection has the same file open, which others may have gone on with.
    func fits(_ connection: Connection) throws(SluiceError) -> Bool {
        do {
            let found = try FileMark(connection)
            return found.migrations == migrations && found.lastAction >= lastAction
        } catch {
            throw SluiceError(wrapping: error, doing: "opening the file again")
        }
    }
}

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
