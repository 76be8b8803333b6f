#if PostgreSQL
package import Sluice

/// Routes and options, except for what a fleet does not have: see the guide.
extension ServerEngine {
    package var lacks: Set<EngineFeature> { [.disciplines, .batches, .predicates, .groups] }

    package func routesChanged(mayStrand: Bool) {
        loop.routesChanged()
        observers.poke(nil)
    }

    package func codeChanged() {
        book.reader.codeChanged()
        // The server has such actions tried again when it gets the routes.
        loop.routesChanged()
    }

    /// They have nothing that the server knows.
    package func optionsChanged(_ form: QueuePattern.Form, from old: QueueOptions) async throws(SluiceError) {
    }
}
#endif
