import FaultVFS
import Synchronization

/// What fails in the midst of a scenario.
final class FaultSource: Sendable {
    enum Kind: Sendable {
        /// Calls of one kind to the disk.
        case disk(fault_vfs_call)
        /// Allocations of SQLite.
        case memory
    }

    private static let calls: [String: fault_vfs_call] = [
        "read": FAULT_VFS_READ, "write": FAULT_VFS_WRITE, "room": FAULT_VFS_NO_ROOM,
        "truncate": FAULT_VFS_TRUNCATE, "sync": FAULT_VFS_SYNC, "size": FAULT_VFS_SIZE,
        "lock": FAULT_VFS_LOCK, "map": FAULT_VFS_MAP, "map-lock": FAULT_VFS_MAP_LOCK,
        "open": FAULT_VFS_OPEN, "delete": FAULT_VFS_DELETE, "access": FAULT_VFS_ACCESS,
    ]

    /// The name of the disk, for ``FileOptions/vfs``.
    static let diskName = "faults"

    private let kind: Kind
    /// It is registered until the process ends.
    private nonisolated(unsafe) let vfs: OpaquePointer
    /// Faults that are to come; within it, so that they stand aside for a while.
    private let count = Mutex(Int32(0))

    /// - Parameter name: `memory`, or a kind of calls.
    init?(_ name: String) {
        if name == "memory" {
            guard fault_memory_install() == 0 else { return nil }
            kind = .memory
        } else if let call = Self.calls[name] {
            kind = .disk(call)
        } else {
            return nil
        }
        guard let vfs = fault_vfs_create(Self.diskName) else { return nil }
        self.vfs = vfs
    }

    /// Calls that could have failed.
    var made: Int {
        switch kind {
        case .disk(let call): Int(fault_vfs_calls(vfs, call))
        case .memory: Int(fault_memory_allocations())
        }
    }

    /// Calls that have failed.
    var faults: Int {
        switch kind {
        case .disk: Int(fault_vfs_faults(vfs))
        case .memory: Int(fault_memory_faults())
        }
    }

    /// Syncs of the disk that have succeeded.
    var syncs: Int { Int(fault_vfs_syncs(vfs)) }

    /// Lets calls fail: behind so many more one, or all.
    func fail(behind: Int, forEver: Bool) {
        count.withLock { count in
            count = forEver ? -1 : 1
            set(Int32(behind), count)
        }
    }

    func mend() {
        count.withLock { count in
            count = 0
            set(0, 0)
        }
    }

    /// Does something with a machine that is whole.
    func whole<Output>(_ body: () throws -> Output) rethrows -> Output {
        try count.withLock { count in
            // The disk of a test's own looks is another one.
            guard case .memory = kind, count != 0 else { return try body() }
            set(0, 0)
            defer { if count < 0 { set(0, count) } }
            return try body()
        }
    }

    private func set(_ behind: Int32, _ count: Int32) {
        switch kind {
        case .disk(let call): fault_vfs_fail(vfs, call, behind, count)
        case .memory: fault_memory_fail(behind, count)
        }
    }
}
