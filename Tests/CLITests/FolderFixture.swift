#if CommandLineTool
import Foundation
import Subprocess
import Testing

/// A folder as Customer.io's SDK for iOS leaves it.
final class CustomerIOFixture {
    /// A task, and what the inventory says of it.
    struct Task {
        var id: String
        var kind = "trackEvent"
        var payload = #"{"identifier":"ada"}"#
        var runs = 0
        var createdAt = 1_650_000_000
        var groupStart: String?
        var groupMember: [String]?
    }

    let place: Workplace
    let path: String
    private var inventory: [String] = []

    init(_ place: Workplace, named name: String = "queue") throws {
        self.place = place
        path = place.path(of: name)
        try FileManager.default.createDirectory(
            atPath: "\(path)/tasks",
            withIntermediateDirectories: true
        )
    }

    /// Adds a task to the inventory and to the folder.
    func add(_ task: Task) throws {
        let name = task.id.hasSuffix(".json") ? task.id : "\(task.id).json"
        try write("tasks/\(name)", try Self.text(of: task))
        try list(task)
    }

    /// Adds a task to the inventory alone.
    func list(_ task: Task) throws {
        var entry: [String: Any] = [
            "task_persisted_id": task.id, "task_type": task.kind, "created_at": task.createdAt,
        ]
        entry["group_start"] = task.groupStart
        entry["group_member"] = task.groupMember
        try list(raw: Self.json(entry))
    }

    /// Adds text to the inventory as it is.
    func list(raw entry: String) throws {
        inventory.append(entry)
        try write("inventory.json", "[" + inventory.joined(separator: ",") + "]")
    }

    func write(_ name: String, _ text: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: "\(path)/\(name)"))
    }

    /// A task's file.
    static func text(of task: Task) throws -> String {
        try json([
            "storage_id": task.id, "type": task.kind,
            "data": Data(task.payload.utf8).base64EncodedString(), "run_results": ["total_runs": task.runs],
        ])
    }

    static func json(_ object: [String: Any]) throws -> String {
        // Slashes are escaped, as on Apple's systems.
        let data = try JSONSerialization.data(withJSONObject: object, options: .sortedKeys)
        return String(decoding: data, as: UTF8.self)
    }
}

/// A job as applications that use Cute declare it.
struct CuteJob: Codable, Equatable {
    var id: String
    var createdDate: Date
    var data: Data?
    var action: String
    var album: String?

    /// The name that Cute's persister gives its file.
    var fileName: String { "\(createdDate.timeIntervalSince1970)-\(id).json" }

    /// Writes it as Cute's persister does.
    func write(to folder: String) throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let data = try JSONEncoder().encode(self)
        try data.write(to: URL(fileURLWithPath: "\(folder)/\(fileName)"))
    }
}

/// Everything in a folder: names, kinds, permissions, times of change and contents.
func snapshot(of folder: String) async throws -> String {
    let command = """
        cd '\(folder)' && find . -printf '%p %y %m %T@ %s %l\\n' | LC_ALL=C sort &&
        find . -type f -exec cksum {} + | LC_ALL=C sort
        """
    let result = try await Tool.launch("/bin/sh", ["-c", command])
    try #require(result.status == .exited(0), "\(result)")
    return result.output
}
#endif
