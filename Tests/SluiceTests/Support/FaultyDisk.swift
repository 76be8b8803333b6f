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

    var failedSyncs: Int { Int(fault_vfs_failed_syncs(vfs)) }
}
