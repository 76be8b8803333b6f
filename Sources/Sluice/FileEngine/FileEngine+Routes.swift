extension FileEngine {
    package var lacks: Set<EngineFeature> { [] }

    package func routesChanged(mayStrand: Bool) {
        scheduler.routesChanged()
        if isRunning { scheduler.schedule(.showRoutes, within: .zero) }
        if mayStrand { observers.poke(nil) }
    }

    package func optionsChanged(
        _ form: QueuePattern.Form,
        from old: QueueOptions
    ) async throws(SluiceError) {
        if old.start != nil, isRunning { try await store.forgetBatches(form) }
    }
}
