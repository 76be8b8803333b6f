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
            check.connected(walPath: walPath)
            return GroupCommitter(continuing: suspended, on: connection)
        } catch {
            if error.endsBroker { check.fail(error) }
            throw error
        }
    }
}

extension Store {
    /// Copies the file to where nothing stands, so that the copy runs at once.
    ///
    /// - Parameter adjust: Changes how it is made, for tests.
    func backUp(
        to destination: String,
        adjust: (inout BackupCopy) -> Void = { _ in }
    ) async throws(SluiceError) {
        guard let reader else {
            throw SluiceError(.unsupportedDatabase, "queues in memory have no file that could be copied")
        }
        try check.look()
        let copy = adjusted(
            BackupCopy(
                openSource: reader.open,
                destination: try DatabaseFile.absolutePath(destination),
                vfs: file.vfs,
                now: clock.now,
                store: nonce,
                identity: identity
            ),
            adjust
        )
        try await backups.perform { goOn in try copy.make(goOn) }
    }

    private func adjusted(_ copy: BackupCopy, _ adjust: (inout BackupCopy) -> Void) -> BackupCopy {
        var copy = copy
        adjust(&copy)
        return copy
    }
}
