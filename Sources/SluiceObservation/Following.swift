internal import Sluice

/// Shows a model what a sequence delivers, until the model is released or the broker is closed.
final class Following: Sendable {
    /// The time from an error of the file to the next try.
    private static let pause: Duration = .seconds(1)

    /// Ends with the sequence, or when the model is released.
    let task: Task<Void, Never>

    /// - Parameters:
    ///   - updates: Called at once and after each error.
    ///   - show: Returns whether the model is still there.
    init<Updates: AsyncSequence & Sendable>(
        _ clock: any BrokerClock,
        _ updates: @escaping @Sendable () -> Updates,
        show: @escaping @MainActor (Result<Updates.Element, SluiceError>) -> Bool
    ) where Updates.Failure == SluiceError, Updates.Element: Sendable {
        // Detached, so that the file is read and compared away from the main actor.
        task = Task.detached { await Following.follow(clock, updates, show) }
    }

    deinit { task.cancel() }

    private static func follow<Updates: AsyncSequence & Sendable>(
        _ clock: any BrokerClock,
        _ updates: @Sendable () -> Updates,
        _ show: @MainActor (Result<Updates.Element, SluiceError>) -> Bool
    ) async where Updates.Failure == SluiceError, Updates.Element: Sendable {
        while true {
            do {
                var iterator = updates().makeAsyncIterator()
                while let update = try await iterator.next(isolation: #isolation) {
                    guard await show(.success(update)) else { return }
                }
                return
            } catch {
                guard error.code != .closed, await show(.failure(error)) else { return }
            }
            do { try await clock.sleep(untilUptime: clock.uptime + pause) } catch { return }
        }
    }
}
