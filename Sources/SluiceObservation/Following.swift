internal import Sluice

/// Shows a model what a sequence delivers, until the model is released or the broker is closed.
final class Following: Sendable {
    /// The time from an error of the file to the next try.
    private static let pause: Duration = .seconds(1)

    /// Ends with the sequence, or when the model is released.
    let task: Task<Void, Never>

    /// - Parameters:
    ///   - updates: Called at once and after each error, with the last value shown, to continue from there.
    ///   - merge: Makes the next value to show, of an update and the last value.
    ///   - show: Returns whether the model is still there.
    init<Updates: AsyncSequence & Sendable, Shown: Sendable>(
        _ clock: any BrokerClock,
        _ updates: @escaping @Sendable (Shown?) -> Updates,
        merge: @escaping @Sendable (Updates.Element, Shown?) async throws(SluiceError) -> Shown,
        show: @escaping @MainActor (Result<Shown, SluiceError>) -> Bool
    ) where Updates.Failure == SluiceError, Updates.Element: Sendable {
        // Detached, so that the file is read, compared and merged away from the main actor.
        task = Task.detached { await Following.follow(clock, updates, merge, show) }
    }

    deinit { task.cancel() }

    private static func follow<Updates: AsyncSequence & Sendable, Shown: Sendable>(
        _ clock: any BrokerClock,
        _ updates: @Sendable (Shown?) -> Updates,
        _ merge: @Sendable (Updates.Element, Shown?) async throws(SluiceError) -> Shown,
        _ show: @MainActor (Result<Shown, SluiceError>) -> Bool
    ) async where Updates.Failure == SluiceError, Updates.Element: Sendable {
        var last: Shown?
        while true {
            do throws(SluiceError) {
                var iterator = updates(last).makeAsyncIterator()
                while let update = try await iterator.next(isolation: #isolation) {
                    let shown = try await merge(update, last)
                    guard await show(.success(shown)) else { return }
                    last = shown
                }
                return
            } catch {
                guard error.code != .closed, await show(.failure(error)) else { return }
            }
            do { try await clock.sleep(untilUptime: clock.uptime + pause) } catch { return }
        }
    }
}
