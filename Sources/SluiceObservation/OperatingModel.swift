internal import Sluice

/// A model with calls for buttons: they are performed in their order, and keep their errors.
@MainActor protocol OperatingModel: AnyObject, Sendable {
    var error: SluiceError? { get set }
    /// The last call.
    var latest: Task<Void, Never>? { get set }
}

extension OperatingModel {
    func perform(
        _ operation: @escaping @Sendable () async throws(SluiceError) -> Void
    ) -> Task<Void, Never> {
        let task = Task { [latest] in
            await latest?.value
            do throws(SluiceError) { try await operation() } catch { self.error = error }
        }
        latest = task
        return task
    }
}
