/// Why a queue that could be claimed is not, as far as only the scheduler knows.
enum QueueReadiness: Equatable {
    case lacksRoutePermit
    case lacksPermit
    /// Its rate limit allows the next start at that time.
    case lacksRate(until: Duration)
    /// Suspects are tried with nothing beside them, or are about to be; this queue's may be one of them.
    case awaitsTrial
    case free
}
