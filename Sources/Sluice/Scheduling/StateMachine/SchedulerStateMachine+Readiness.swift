/// What only the state machine knows of a queue that does not run.
extension SchedulerStateMachine {
    func readiness(of queue: QueueID) -> QueueReadiness {
        switch phases[queue] {
        case .lackingPermit: .lacksRoutePermit
        case .suspect: .awaitsTrial
        case .ready where trial.isActive: .awaitsTrial
        case .ready where permitsInUse >= concurrency: .lacksPermit
        default: .free
        }
    }
}
