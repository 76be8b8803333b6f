internal import Sluice

/// A model with calls for buttons: they are performed in their order, and keep their errors.
@MainActor protocol OperatingModel: AnyObject, Sendable {
    /// The error of the last call that failed.
    var callError: SluiceError? { get set }
    /// Waits for the last call.
    var latest: (@Sendable () async -> Void)? { get set }
}

extension OperatingModel {
    /// - Returns: A task with the result; `nil` after an error.
    func perform<Value: Sendable>(
        _ operation: @escaping @Sendable () async throws(SluiceError) -> Value
    ) -> Task<Value?, Never> {
        let task = Task { [latest] () -> Value? in
            await latest?()
            do throws(SluiceError) {
                return try await operation()
            } catch {
                self.callError = error
                return nil
            }
        }
        latest = { _ = await task.value }
        return task
    }
}
