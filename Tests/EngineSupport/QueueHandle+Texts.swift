import Sluice
import TestSupport

extension QueueHandle<Note> {
    /// The texts of what waits, in its order.
    func texts(pageSize: Int = 100) async throws -> [String] {
        var texts: [String] = []
        for try await item in contents(pageSize: pageSize) { texts.append(item.action.text) }
        return texts
    }

    /// Takes the next actions out, and tells their texts.
    func take(_ count: Int = 1) async throws -> [String] {
        try await removeNext(count).map(\.action.text)
    }
}

/// The queue of Cute, with no handler and no broker that runs.
