import Synchronization

@testable import Sluice

/// What was done to the files of a disk, and what was promised meanwhile, in order.
final class PowerJournal: Sendable {
    enum Entry: Sendable {
        case opened(path: String)
        case written(path: String, offset: Int, bytes: [UInt8])
        case truncated(path: String, size: Int)
        /// All that was done to the file before is on the disk when the sync has succeeded.
        case syncBegan(path: String)
        case synced(path: String)
        case deleted(path: String, isSynced: Bool)
        case promised(Promise)
    }

    /// What the engine has told, or a handler has done, for an action.
    enum Promise: Sendable {
        /// Its enqueue has returned.
        case stored(ActionID)
        /// Its handler is about to return success: its row may go.
        case ran(ActionID)
        /// It has been told that it is settled.
        case settled(ActionID)
        /// The same of one whose effect stands in the settling transaction.
        case effected(ActionID)
        /// An enqueue has thrown: its action is not stored.
        case refused
    }

    private let state = Mutex<[Entry]>([])

    var entries: [Entry] { state.withLock { $0 } }

    func append(_ entry: Entry) { state.withLock { $0.append(entry) } }

    func promise(_ promise: Promise) { append(.promised(promise)) }
}
