import FaultVFS
import Foundation
import TestSupport
import Testing

/// A disk that fails when a test asks for it.
struct FaultyDisk: Sendable {
    /// What ``FileOptions/vfs`` calls it.
    let name = "fault-\(UUID().uuidString)"
    /// It stays until the process ends, and all that is changed in it is atomic.
    private nonisolated(unsafe) let vfs: OpaquePointer

    init() throws { vfs = try #require(fault_vfs_create(name)) }

    /// Lets so many of the next syncs fail.
    func failSyncs(_ count: Int32) { fault_vfs_fail_syncs(vfs, count) }

    /// Lets all syncs fail until it is mended.
    func breakDown() { fault_vfs_fail_syncs(vfs, -1) }

    func mend() { fault_vfs_fail_syncs(vfs, 0) }

    /// As if its file system were mounted read-only; for files that are opened from then on.
    func setReadOnly() { fault_vfs_set_read_only(vfs, 1) }

    /// Syncs of its files that were done.
    var syncs: Int { Int(fault_vfs_syncs(vfs)) }

    func setWritable() { fault_vfs_set_read_only(vfs, 0) }

    /// Has room for so many more writes; `nil` is for all.
    func setRoom(_ count: Int32?) { fault_vfs_set_room(vfs, count ?? -1) }

    /// Has no room for files to become longer, or has room again.
    func setFull(_ isFull: Bool) { fault_vfs_set_full(vfs, isFull ? 1 : 0) }

    /// Does something in the midst of the next checkpoint that finds the log changed by another connection:
    /// it knows how long the log is, and not yet how much of it was copied.
    func onCheckpoint(_ body: @escaping () -> Void) {
        fault_vfs_on_checkpoint(
            vfs,
            { context in
                guard let context else { return }
                Unmanaged<Errand>.fromOpaque(context).takeRetainedValue().body()
            },
            Unmanaged.passRetained(Errand(body)).toOpaque()
        )
    }

    /// Notes all that is done to its files; to be called before the first is opened.
    ///
    /// The journal lives as long as the disk, which is until the process ends.
    func observe(_ journal: PowerJournal) {
        fault_vfs_observe(
            vfs,
            { context, event, path, offset, bytes, count in
                guard let context, let path else { return }
                let journal = Unmanaged<PowerJournal>.fromOpaque(context).takeUnretainedValue()
                let name = String(cString: path)
                let content = UnsafeRawBufferPointer(start: bytes, count: Int(count))
                switch event {
                case FAULT_VFS_OPENED: journal.append(.opened(path: name))
                case FAULT_VFS_WRITTEN:
                    journal.append(.written(path: name, offset: Int(offset), bytes: Array(content)))
                case FAULT_VFS_TRUNCATED: journal.append(.truncated(path: name, size: Int(offset)))
                case FAULT_VFS_SYNC_BEGAN: journal.append(.syncBegan(path: name))
                case FAULT_VFS_SYNCED: journal.append(.synced(path: name))
                default: journal.append(.deleted(path: name, isSynced: offset != 0))
                }
            },
            Unmanaged.passRetained(journal).toOpaque()
        )
    }

    var failedSyncs: Int { Int(fault_vfs_failed_syncs(vfs)) }
}

/// What a function of C, which has one pointer, is to do.
private final class Errand {
    let body: () -> Void

    init(_ body: @escaping () -> Void) {
        self.body = body
    }
}
