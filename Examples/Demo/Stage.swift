#if CommandLineTool
import Foundation

/// A temporary folder with the two files of the show.
struct Stage {
    let folder: String
    /// The file of queues.
    var queues: String { "\(folder)/outbox.sqlite" }
    /// The server's log.
    var log: String { "\(folder)/server.log" }

    init() throws {
        let name = "sluice-demo-\(UUID().uuidString.prefix(8))"
        let url = FileManager.default.temporaryDirectory.appendingPathComponent(name)
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
        folder = url.path
        try Data().write(to: url.appendingPathComponent("server.log"))
    }

    func remove() throws {
        try FileManager.default.removeItem(atPath: folder)
    }
}

/// Why the demo cannot go on, in a sentence.
struct DemoError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
#endif
