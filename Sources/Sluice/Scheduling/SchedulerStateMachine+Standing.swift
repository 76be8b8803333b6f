/// What only the state machine knows of a queue that does not run.
extension SchedulerStateMachine {
    enum Standing: Equatable {
        /// Its head's route has no permit left.
        case lacksRoutePermit
        /// As many handlers run as the broker allows.
        case lacksPermit
        /// Suspects are tried with nothing beside them, or are about to be; this queue's may be one of them.
        case awaitsTrial
        /// None of these.
        case free
    }

    func standing(of queue: QueueID) -> Standing {
        switch phases[queue] {
        case .lackingPermit: .lacksRoutePermit
        case .suspect: .awaitsTrial
        case .ready where trial.isActive: .awaitsTrial
        case .ready where permitsInUse >= concurrency: .lacksPermit
        default: .free
        }
    }
}
