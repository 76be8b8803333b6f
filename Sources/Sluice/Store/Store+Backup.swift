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
