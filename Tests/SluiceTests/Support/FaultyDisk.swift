import FaultVFS
import Foundation
import Testing

/// A disk that fails when a test asks for it.
struct FaultyDisk {
    /// What ``BrokerOptions/vfs`` calls it.
    let name = "fault-\(UUID().uuidString)"
    private let vfs: OpaquePointer

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

    var failedSyncs: Int { Int(fault_vfs_failed_syncs(vfs)) }
}

/// What a function of C, which has one pointer, is to do.
private final class Errand {
    let body: () -> Void

    init(_ body: @escaping () -> Void) {
        self.body = body
    }
}
