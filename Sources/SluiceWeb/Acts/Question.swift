#if Web
internal import Sluice

/// A question whether to act: the act is done to the subjects that it counted, and to no others.
struct Question: Sendable {
    /// None for an action to enqueue.
    let subjects: [Subject]
    /// The fields of the act, without a payload: that comes again with the answer.
    let form: Form
    /// The fingerprint of the payload that was shown.
    private let payload: String?

    /// What an operator may add to an act with the answer.
    enum Addition: String, CaseIterable {
        case reason, minutes
    }

    /// Returns the additions that an act asks for.
    static func additions(to kind: Act.Kind) -> [Addition] {
        switch kind {
        case .hold: [.reason, .minutes]
        case .skipHead: [.reason]
        case .closeGate: [.minutes]
        case .cancel, .cancelAll, .move, .moveToFront, .edit, .reschedule, .setExpiry, .setTag, .retryNow,
            .runNow, .endHolds, .endHold, .openGate, .requeue, .requeueAtEnd, .requeueAll, .purge, .purgeAll:
            []
        }
    }

    /// The fields of an answer.
    private static let parameters = Addition.allCases.map(\.rawValue) + ["then", "payload"]

    init(_ form: Form, about subjects: [Subject]) {
        self.subjects = subjects
        payload = form["payload"]?.fingerprint
        self.form = form.setting("payload", nil).setting("token", nil)
    }

    /// Returns the fields of the act with the parameters of an answer.
    func form(answeredBy answer: Form) throws(PageError) -> Form {
        guard answer["payload"]?.fingerprint == payload else {
            throw PageError(.conflict, "the payload is another one than was shown: ask again")
        }
        var form = form
        for name in Self.parameters { form = form.setting(name, answer[name]) }
        return form
    }
}
#endif
