/// The state of a queue that does not run, as only the state machine knows it.
extension SchedulerStateMachine {
    enum Standing: Equatable {
        /// Its head's route has no free permit.
        case lacksRoutePermit
        /// As many handlers run as the broker allows.
        case lacksPermit
        /// Suspects are on trial alone, or about to be; this queue's may be one of them.
        case awaitsTrial
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
