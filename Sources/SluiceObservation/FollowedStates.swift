#if canImport(Observation)
internal import Observation
internal import Sluice

/// The states that a model follows, and the error of the last read.
@MainActor
@Observable
final class FollowedStates<State: Sendable & Hashable & Identifiable>
where State.ID: Sendable & Comparable {
    typealias Merged = MergedUpdate<State>

    /// All states, sorted by their ids.
    private(set) var all: [State] = []
    /// Whether they have been read.
    private(set) var isLoaded = false
    /// The error of the last read, which the next one clears.
    var error: SluiceError?
    /// Called with each update before it is shown.
    @ObservationIgnored var willShow: (@MainActor (Merged) -> Void)?
    @ObservationIgnored private var following: Following?

    /// - Parameters:
    ///   - observe: Begins an observation, after the states that have been shown.
    ///   - missed: Returns states of which an update does not know that they match no more.
    init(
        _ clock: any BrokerClock,
        _ observe: @escaping @Sendable (StateUpdate<State>.Position?) -> StateUpdates<StateUpdate<State>>,
        missed: @escaping @Sendable (StateUpdate<State>) async throws(SluiceError) -> [State] = { _ in [] }
    ) {
        following = Following(
            clock,
            { (last: Merged?) -> StateUpdates<StateUpdate<State>> in observe(last?.update.position) },
            merge: { (update: StateUpdate<State>, last: Merged?) async throws(SluiceError) -> Merged in
                let others = try await missed(update)
                return Merged(update, after: last, missed: others)
            },
            show: { [weak self] in self?.show($0) != nil }
        )
    }

    private func show(_ result: Result<Merged, SluiceError>) {
        switch result {
        case .failure(let failure): error = failure
        case .success(let merged):
            willShow?(merged)
            (all, isLoaded, error) = (merged.all, true, nil)
        }
    }
}
#endif
