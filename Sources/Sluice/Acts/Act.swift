/// What senders and operators do to actions, queues, gates, holds and dead letters that are there.
///
/// A broker checks it and its engine does it: see ``Broker/perform(_:)``. Page and tool have words for it.
package enum Act: Sendable {
    // Actions
    case cancel(ActionSelection.Form)
    case move(ActionID, to: QueueName)
    case moveToFront(ActionID)
    case edit(ActionID, to: NewPayload, replacing: String?, ifRunning: EditWhileRunning)
    case reschedule(ActionID, notBefore: Timestamp?)
    case setExpiry(ActionID, Timestamp?)
    case setTag(ActionID, String?)

    // Queues
    /// Makes the action that a queue waits for, or else its head, a dead letter; with `only`, no other.
    case skipHead(of: QueueName, only: ActionID?, reason: String?)
    case retryNow(QueueSelection)
    case runNow(QueuePattern.Form, includingRetries: Bool)
    case hold(QueuePattern, by: String, reason: String, for: Duration?)
    /// Ends the holds of exactly this pattern.
    case endHolds(of: QueuePattern, by: String?)
    case endHold(HoldID)

    // Gates
    case openGate(GateName, isPersistent: Bool, spread: Duration)
    case closeGate(GateName, isPersistent: Bool, for: Duration?)

    // Dead letters
    case requeue(ActionID)
    /// Puts a dead letter at the end, after all actions of its queue, with a new number.
    case requeueAtEnd(ActionID)
    case requeueAll(DeadLetterFilter)
    case purge(ActionID)
    case purgeAll(DeadLetterFilter, diedBefore: Timestamp?, keepingNewest: Int)

    /// The queues of an act: those of a pattern, or those with these names.
    package enum QueueSelection: Sendable {
        case matching(QueuePattern.Form)
        case named([QueueName])
    }

    /// The acts without their subjects and details, one for one action and one for many.
    ///
    /// The raw value is the word of a form of the page.
    package enum Kind: String, Sendable, CaseIterable {
        case cancel, cancelAll, move, moveToFront, edit, reschedule, setExpiry, setTag
        case skipHead, retryNow, runNow, hold, endHolds, endHold
        case openGate, closeGate
        case requeue, requeueAtEnd, requeueAll, purge, purgeAll
    }

    package var kind: Kind {
        switch self {
        case .cancel(.action): .cancel
        case .cancel(.tag), .cancel(.queues): .cancelAll
        case .move: .move
        case .moveToFront: .moveToFront
        case .edit: .edit
        case .reschedule: .reschedule
        case .setExpiry: .setExpiry
        case .setTag: .setTag
        case .skipHead: .skipHead
        case .retryNow: .retryNow
        case .runNow: .runNow
        case .hold: .hold
        case .endHolds: .endHolds
        case .endHold: .endHold
        case .openGate: .openGate
        case .closeGate: .closeGate
        case .requeue: .requeue
        case .requeueAtEnd: .requeueAtEnd
        case .requeueAll: .requeueAll
        case .purge: .purge
        case .purgeAll: .purgeAll
        }
    }
}
