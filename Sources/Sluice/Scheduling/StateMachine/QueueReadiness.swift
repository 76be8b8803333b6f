/// Why a queue that could be claimed is not, as far as only the scheduler knows.
enum QueueReadiness: Equatable {
    case lacksRoutePermit
    case lacksPermit
    case lacksRate
    /// Suspects are tried with nothing beside them, or are about to be; this queue's may be one of them.
    case awaitsTrial
    case free
}
