#if Web
internal import Sluice

extension OperatorPage {
    /// Writes to the audit log that somebody sees a payload: it can be private.
    ///
    /// Once for each browser and action, so that whoever reloads a page pushes nothing out of the log.
    func noteView(of action: ActionID, _ details: ActionState.Details, _ visit: Visit) async {
        guard !visit.isLive, sessions.see(action, visit.session.id) else { return }
        let act = "See the payload of action \(action) of queue \(details.queue.rawValue)"
        await audit.note(act, by: visit.person, "shown")
    }
}
#endif
