internal import SQLite
internal import Synchronization

/// Letting go of the file for a while.
extension Store {
    /// Closes all connections; writes and reads that come wait.
    func suspend() async {
        await backups.end(
            SluiceError(.suspended, "the broker was suspended; copy the file when it is resumed")
        )
        await lookout?.suspend()
        await reader?.suspend()
        await writer.suspend()
    }

    /// Opens the file again, and goes on with what waits.
    ///
    /// - Throws: What opening throws, and ``SluiceError/Code/fileReplaced``. What waits waits on then, unless
    ///   it waits in vain.
    func resume() async throws(SluiceError) {
        if isReadOnly { try check.look() }
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
            let mark = try? WriteTransaction.mark(of: connection)
            if let known = suspended.transaction.fileMark, known != mark {
                // It has the number of the one that was opened, which has gone.
                connection.setCheckpointOnClose(false)
                connection.close()
                throw SluiceError(
                    .fileReplaced,
                    "the file was replaced while the broker was suspended; close it and open it again"
                )
            }
            writerAddress.store(Int(bitPattern: connection.rawHandle), ordering: .releasing)
            return GroupCommitter(continuing: suspended, on: connection)
        } catch {
            if error.endsBroker { check.fail(error) }
            throw error
        }
    }
}

extension WriteTransaction {
    /// What tells a file of queues from others: when each step of its schema was applied.
    static func mark(of connection: Connection) throws -> String? {
        try connection.prepare("SELECT group_concat(applied_at_us, ' ') FROM sluice_migrations")
            .first { $0.optionalText(0) } ?? nil
    }

    /// Notes which file it is, before the connection is closed for a while.
    func rememberFile() {
        guard !connection.isInMemory else { return }
        // Without a mark it is known by its number alone.
        fileMark = try? Self.mark(of: connection)
    }

    /// Goes on where another has stopped, on a connection that has been opened since; what the other knew of
    /// the file is not believed.
    convenience init(continuing other: WriteTransaction, on connection: Connection) {
        self.init(
            connection: connection,
            nonce: other.nonce,
            identity: other.identity,
            leases: other.leases,
            writeBehind: other.order.limits,
            runners: other.runners,
            interest: other.journal.interest,
            settledActions: other.settledActions,
            ownSettlements: other.ownSettlements
        )
        epoch = other.epoch
        isToRun = other.isToRun
        claimCount = other.claimCount
        others = other.others
        seenOpening = other.seenOpening
        journal = other.journal
        followOrder()
    }
}
