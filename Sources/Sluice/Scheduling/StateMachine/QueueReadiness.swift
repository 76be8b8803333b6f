/// Why a queue that could be claimed is not, as far as only the scheduler knows.
enum QueueReadiness: Equatable {
    /// Its head's route has no permit left.
    case lacksRoutePermit
    /// As many handlers run as the broker allows.
    case lacksPermit
    /// Suspects are tried with nothing beside them, or are about to be; this queue's may be one of them.
    case awaitsTrial
    /// None of these.
    case free
}
