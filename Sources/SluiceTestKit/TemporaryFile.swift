#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// A path for a database in a directory of its own, which goes when the value goes.
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
        try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
        directory = root.path
        path = root.appendingPathComponent(name).path
    }

    deinit {
        // What cannot be removed stays in the system's temporary directory, which is cleaned by others.
        try? FileManager.default.removeItem(atPath: directory)
    }
}
