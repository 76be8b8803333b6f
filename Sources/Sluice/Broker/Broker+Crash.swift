extension Broker {
    /// Ends the broker in a test as a kill of its process does: nothing is written from now on.
    ///
    /// Handlers are cancelled and not waited for, and their outcomes are lost. The process's row and its
    /// claims stay in the file, which is closed without a checkpoint. Returns the epoch that has ended.
    package func crash() async -> Int64? {
        let epoch = store.runners.epoch
        // This stops a running broker too; a group that is being committed is committed.
        store.check.fail(SluiceError(.closed, "the broker was crashed by its test"))
        scheduler.silence()
        await wakeUps?.stop()
        await store.close()
        observers.end()
        return epoch
    }
}
