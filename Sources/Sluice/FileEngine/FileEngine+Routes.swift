/// A store supports all options and routes.
extension FileEngine {
    package func ensureSupport(for options: QueueOptions) throws(SluiceError) {}
    package func ensureSupportForPredicates() throws(SluiceError) {}

    package func routesChanged(mayStrand: Bool) {
        scheduler.routesChanged()
        if mayStrand { observers.poke(nil) }
    }

    package func optionsChanged(
        _ form: QueuePattern.Form,
        from old: QueueOptions
    ) async throws(SluiceError) {
        if old.start != nil, isRunning { try await store.forgetBatches(form) }
    }
}
