import Sluice
import Synchronization
import TestSupport

/// A handler in completion form that does what a closure says.
struct NoteHandler: CompletionHandler {
    let body: @Sendable (Note, Attempt, Completion) -> Void

    func handle(_ action: Note, _ attempt: Attempt, completion: Completion) {
        body(action, attempt, completion)
    }
}

/// Keeps completions for a test, so that they are neither called nor dropped.
final class Keeper: Sendable {
    private let completions = Mutex<[Completion]>([])

    func keep(_ completion: Completion) { completions.withLock { $0.append(completion) } }

    /// Hands the oldest one over and forgets it.
    func take() -> Completion? { completions.withLock { $0.isEmpty ? nil : $0.removeFirst() } }

    /// Forgets all.
    func drop() {
        let dropped = completions.withLock { completions in
            defer { completions = [] }
            return completions
        }
        withExtendedLifetime(dropped) {}
    }
}
