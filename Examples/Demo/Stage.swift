#if CommandLineTool
import Foundation

/// A temporary folder with the files of the show, and the queues: in one of them, or in a database.
struct Stage {
    let folder: String
    /// The address of a PostgreSQL database; `nil`: the queues are in a file.
    let server: String?
    /// Where the queues are.
    var queues: String { server ?? "\(folder)/outbox.sqlite" }
    /// What they are in, in a word.
    var place: String { server == nil ? "file" : "database" }
    /// The command that shows the queues.
    var question: String {
        server.map { "psql '\($0)' -c 'select * from \(Outbox.schema).sluice_queues'" }
            ?? "sqlite3 \(queues) 'select * from sluice_queues'"
    }
    /// The server's log.
    var log: String { "\(folder)/server.log" }

    init(server: String?) throws {
        self.server = server
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
