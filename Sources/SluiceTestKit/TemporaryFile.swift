internal import Synchronization

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// A path for a database in a directory of its own, which is removed with the value.
///
/// If the value lives until the process exits, the directory is removed then.
public final class TemporaryFile: Sendable {
    private let directory: String

    /// The path; the file does not exist yet.
    public let path: String

    /// Makes the directory.
    ///
    /// - Throws: The error of the file system.
    public init(name: String = "queues.sqlite") throws {
        let root = FileManager.default.temporaryDirectory.appendingPathComponent(
            "sluice-\(UUID().uuidString)"
        )
        directory = root.path
        path = root.appendingPathComponent(name).path
        TemporaryDirectories.add(directory)
        do {
            try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
        } catch {
            TemporaryDirectories.remove(directory)
            throw error
        }
    }

    deinit {
        TemporaryDirectories.remove(directory)
    }
}

/// The directories that this process has created and not removed.
///
/// A removal keeps the lock until its end. So an exit waits for a removal in another thread, which would
/// otherwise be cut short.
private enum TemporaryDirectories {
    private static let living = Mutex<Set<String>>([])

    /// How often a removal is repeated: a database that is being closed deletes its WAL, and a vanished file
    /// ends a removal early.
    private static let attempts = 100

    private static let removesAtExit: Void = {
        atexit { TemporaryDirectories.removeAll() }
    }()

    static func add(_ directory: String) {
        removesAtExit
        living.withLock { _ = $0.insert(directory) }
    }

    static func remove(_ directory: String) {
        living.withLock { living in
            removeFromDisk(directory)
            living.remove(directory)
        }
    }

    private static func removeAll() {
        living.withLock { living in
            for directory in living { removeFromDisk(directory) }
            living.removeAll()
        }
    }

    private static func removeFromDisk(_ directory: String) {
        for _ in 0..<attempts where FileManager.default.fileExists(atPath: directory) {
            // A directory that cannot be removed stays among the system's temporary files, which the system
            // cleans.
            try? FileManager.default.removeItem(atPath: directory)
        }
    }
}
