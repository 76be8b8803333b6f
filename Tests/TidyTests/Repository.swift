import Foundation

/// The files of this package, as they lie on the disk.
struct Repository: Sendable {
    /// The package this test was compiled from.
    static let current = Repository(root: rootOfThisPackage())

    /// Absolute path of the folder that holds `Package.swift`.
    let root: String
    /// Paths relative to the root, sorted; build folders and what Git keeps for itself are left out.
    let files: [String]

    init(root: String) {
        self.root = root
        var found: [String] = []
        Self.collect(folder: "", below: root, into: &found)
        files = found.sorted()
    }

    /// The bytes of a file.
    func data(of path: String) throws -> Data {
        try Data(contentsOf: URL(fileURLWithPath: root).appendingPathComponent(path))
    }

    /// Whether builds make this file or folder, so that no rule of ours concerns it.
    static func isGenerated(_ name: String) -> Bool {
        [".git", ".swiftpm", ".DS_Store", "Package.resolved"].contains(name) || name.hasPrefix(".build")
    }

    private static func rootOfThisPackage() -> String {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        return folder.deletingLastPathComponent().deletingLastPathComponent().path
    }

    private static func collect(folder: String, below root: String, into found: inout [String]) {
        let location = folder.isEmpty ? root : "\(root)/\(folder)"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: location)) ?? []
        for name in names where !isGenerated(name) {
            let path = folder.isEmpty ? name : "\(folder)/\(name)"
            let attributes = try? FileManager.default.attributesOfItem(atPath: "\(root)/\(path)")
            switch attributes?[.type] as? FileAttributeType {
            case .typeDirectory?: collect(folder: path, below: root, into: &found)
            case .typeRegular?: found.append(path)
            default: break
            }
        }
    }
}

extension Repository {
    /// Where the rules for code that ships as a library hold.
    static let libraries = ["Sources/SluiceSQLite/"] + publicLibraries
    /// The libraries that others import by name.
    static let publicLibraries = [
        "Sources/Sluice/", "Sources/SluiceCrypto/", "Sources/SluiceGRDB/", "Sources/SluiceObservation/",
        "Sources/SluicePostgres/", "Sources/SluiceTestKit/", "Sources/SluiceWeb/",
    ]

    /// Every Swift file of the package, read once for all tests; steps of a tutorial are no part of it.
    static let swiftSources: [SwiftSource] = current.files
        .filter { $0.hasSuffix(".swift") && ($0 == "Package.swift" || isBelow($0, swiftFolders)) }
        .filter { !$0.contains(".docc/") }
        .compactMap { path in
            guard let data = try? current.data(of: path) else { return nil }
            return SwiftSource(path: path, text: String(decoding: data, as: UTF8.self))
        }

    /// The Swift files below one of the folders.
    static func swiftSources(below folders: [String]) -> [SwiftSource] {
        swiftSources.filter { isBelow($0.path, folders) }
    }

    private static let swiftFolders = ["Sources/", "Tests/", "Benchmarks/", "Examples/"]

    private static func isBelow(_ path: String, _ folders: [String]) -> Bool {
        folders.contains { path.hasPrefix($0) }
    }
}
