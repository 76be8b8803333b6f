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

/// A path for a database in a directory of its own, which goes when the value goes.
///
/// If the value lives until the process exits, the directory goes then.
public final class TemporaryFile: Sendable {
    private let directory: String

    /// The path; nothing stands there yet.
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

/// The directories that this process has made and not removed.
///
/// A removal is over before the lock is given back: an exit waits for one that is under way in another
/// thread, which would end with the process and leave the rest.
private enum TemporaryDirectories {
    private static let living = Mutex<Set<String>>([])

    /// How often a removal begins anew: a database in it that is closed meanwhile takes its log away, and
    /// what has vanished ends a removal half way.
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
            // What cannot be removed stays in the system's temporary directory, which others clean.
            try? FileManager.default.removeItem(atPath: directory)
        }
    }
}
