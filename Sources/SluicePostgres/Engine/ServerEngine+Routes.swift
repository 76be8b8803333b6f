#if PostgreSQL
package import Sluice

/// Routes and options, except for what a fleet does not have: see the guide.
extension ServerEngine {
    package func ensureSupport(for options: QueueOptions) throws(SluiceError) {
        guard options.discipline == nil || options.discipline == .firstInFirstOut, options.start == nil else {
            throw SluiceError(
                .unsupported,
                "queues on PostgreSQL run first in, first out, at once: leave out discipline and start"
            )
        }
    }

    package func ensureSupportForPredicates() throws(SluiceError) {
        throw SluiceError(
            .unsupported,
            "a route by predicate needs a broker on a file: the server chooses queues by pattern; give one"
        )
    }

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
