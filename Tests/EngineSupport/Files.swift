import Foundation
import SluiceTestKit
import TestSupport

@testable import Sluice

/// All files of a directory with their bytes.
func contents(besides path: String) throws -> [String: Data] {
    let directory = URL(fileURLWithPath: path).deletingLastPathComponent()
    var contents: [String: Data] = [:]
    for name in try FileManager.default.contentsOfDirectory(atPath: directory.path) {
        let url = directory.appendingPathComponent(name)
        // Followed by nobody here: a link stands for itself.
        let isFile = try url.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile == true
        contents[name] = isFile ? try Data(contentsOf: url) : Data()
    }
    return contents
}

/// Opens and closes a store.
func openAndClose(_ path: String, adjust: (inout BrokerOptions) -> Void = { _ in }) async throws {
    var options = BrokerOptions.on(ManualClock())
    adjust(&options)
    let store = try Store(.file(path), options: options) { _ in }
    await store.close()
}

func mode(_ path: String) throws -> Int {
    let permissions = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions]
    guard let permissions = permissions as? Int else { throw Unexpected(description: "no mode of \(path)") }
    return permissions
}
