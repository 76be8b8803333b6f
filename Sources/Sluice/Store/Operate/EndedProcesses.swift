internal import SluiceSQLite

/// Claims of processes that have certainly ended, as long as no process runs the queues and deletes them.
extension RunnerRegistry {
    /// Deletes these claims; their actions become suspects.
    func deleteClaimsOfEnded() throws {
        let ended = try RunnerRow.ended(connection, own: core.nonce, seenFrom: core.identity)
        let epochs = RunnerRow.epochs(ended)
        // Without rows their claims are orphans. In the end the rows stay: `doctor` reports deaths by them.
        try negateEpochs(epochs, sign: 1)
        try suspectOrphans(of: Set(ended.map(\.epoch)))
        try negateEpochs(epochs, sign: -1)
        try core.notifyRunners("runner")
    }

    private func negateEpochs(_ epochs: String, sign: Int) throws(SQLiteError) {
        try connection.cached(
            """
            UPDATE sluice_runner_rows SET epoch = -epoch
            WHERE epoch * ?2 IN (SELECT value FROM json_each(?1))
            """
        ).bind(1, epochs).bind(2, sign).run()
    }
}

extension RunnerRow {
    /// Returns the rows of processes that have certainly ended, with their programs.
    static func ended(
        _ connection: Connection,
        own: Int64,
        seenFrom me: ProcessIdentity
    ) throws(SQLiteError) -> [RunnerRow] {
        try all(connection).filter { $0.nonce != own && $0.hasEnded(seenFrom: me) }
    }
}
