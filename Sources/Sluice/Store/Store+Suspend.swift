internal import SluiceSQLite
internal import Synchronization

extension Store {
    /// Closes all connections; later writes and reads wait.
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
        // A connection of the application may get the same address.
        _ = writerAddress.compareExchange(expected: address, desired: 0, ordering: .acquiringAndReleasing)
    }

    /// Opens the file again; if that fails, calls continue to wait, unless they can never succeed.
    func resume() async throws(SluiceError) {
        if isReadOnly {
            try check.look()
            registration?.wake()
        }
        do {
            try await writer.resume { [self] suspended throws(SluiceError) in try reopen(suspended) }
        } catch {
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
            let (connection, _, hadWAL) = try file.open(now: clock.now)
            if let known = suspended.transaction.fileMark, try !known.fits(connection) {
                // It has the inode of the file that was opened before, which is deleted.
                connection.setCheckpointOnClose(false)
                connection.close()
                throw SluiceError(
                    .fileReplaced,
                    "the file was replaced while the broker was suspended; close it and open it again"
                )
            }
            writerAddress.store(Int(bitPattern: connection.rawHandle), ordering: .releasing)
            check.connected(walPath: walPath)
            return GroupCommitter(continuing: suspended, on: connection, hadWAL: hadWAL)
        } catch {
            if error.endsBroker { check.fail(error) }
            throw error
        }
    }

    /// Copies the file to an unused path, ready to be opened and run; `adjust` is for tests.
    func backUp(
        to destination: String,
        adjust: (inout BackupCopy) -> Void = { _ in }
    ) async throws(SluiceError) {
        guard let reader else {
            throw SluiceError(.unsupportedDatabase, "queues in memory have no file that could be copied")
        }
        try check.look()
        var copy = BackupCopy(
            openSource: reader.open,
            destination: try DatabaseFile.absolutePath(destination),
            vfs: file.vfs,
            now: clock.now,
            store: nonce,
            identity: identity
        )
        adjust(&copy)
        try await backups.perform { [copy] goOn in try copy.make(goOn) }
    }
}
