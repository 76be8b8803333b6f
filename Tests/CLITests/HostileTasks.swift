#if CommandLineTool
import Foundation
import Testing

/// A folder with what no SDK of Customer.io's has written, and what is to be said of it.
struct HostileTasks {
    private let folder: CustomerIOFixture
    private var reasons: [String] = []

    /// Fills a folder: two tasks that can be read, payloads "first" and "last", and much between them.
    ///
    /// - Returns: The remarks that an import owes.
    static func fill(_ folder: CustomerIOFixture) throws -> [String] {
        var tasks = HostileTasks(folder: folder)
        try folder.add(.init(id: "first", payload: "\"first\""))
        try tasks.addEntries()
        try tasks.addTexts()
        try tasks.addTimesAndGroups()
        try tasks.addFiles()
        try folder.add(.init(id: "last", payload: "\"last\""))
        return tasks.reasons
    }

    private init(folder: CustomerIOFixture) {
        self.folder = folder
    }

    /// Adds a task whose file holds a text.
    private mutating func add(_ id: String, _ text: String, _ reason: String) throws {
        try folder.list(.init(id: id))
        try folder.write("tasks/\(id).json", text)
        reasons.append("tasks/\(id).json: \(reason)")
    }

    /// Entries of the inventory that name no task.
    private mutating func addEntries() throws {
        let id = "the field 'task_persisted_id'"
        let long = String(repeating: "x", count: 300)
        for (entry, reason) in [
            ("7", "it is no JSON object"), ("", "it is not valid JSON"),
            (#"{"task_persisted_id":"a",}"#, "it is not valid JSON"),
            ("{}", "\(id) is missing"), (#"{"task_persisted_id":7}"#, "\(id) is no text"),
            (#"{"task_persisted_id":""}"#, "\(id) is no name of a file"),
            (#"{"task_persisted_id":"../../../../etc/passwd"}"#, "\(id) is no name of a file"),
            (#"{"task_persisted_id":"a\u0000"}"#, "\(id) is no name of a file"),
            (#"{"task_persisted_id":"\#(long)"}"#, "\(id) has more than 243 bytes"),
        ] {
            try folder.list(raw: entry)
            // The first task stands before them.
            reasons.append("inventory.json, entry \(reasons.count + 2): \(reason)")
        }
    }

    /// Tasks whose files hold something else.
    private mutating func addTexts() throws {
        let runs = #""run_results":{"total_runs":0}"#
        try add("empty", "", "it is empty")
        try add("cut", #"{"type":"k","da"#, "it is not valid JSON")
        try add("array", "[]", "it is no JSON object")
        try add("no-data", #"{"type":"k",\#(runs)}"#, "the field 'data' is missing")
        try add("base", #"{"type":"k","data":"&",\#(runs)}"#, "the field 'data' is no Base64")
        let noJSON = "the field 'data' does not contain JSON"
        try add("image", #"{"type":"k","data":"/9j/",\#(runs)}"#, noJSON)
        try add("words", #"{"type":"k","data":"aGVsbG8=",\#(runs)}"#, noJSON)
        try add("no-type", #"{"data":"MQ==",\#(runs)}"#, "the field 'type' is missing")
        let kind = "a kind has 0 bytes of UTF-8; give 1 to 255"
        try add("kind", #"{"type":"","data":"MQ==",\#(runs)}"#, kind)
        try add("no-runs", #"{"type":"k","data":"MQ=="}"#, "the field 'run_results' is missing")
        for (id, runs, reason) in [
            ("few", "-1", "no number of runs"), ("many", "9223372036854775807", "no number of runs"),
            ("part", "1.5", "no 64-bit integer"),
        ] {
            let text = #"{"type":"k","data":"MQ==","run_results":{"total_runs":\#(runs)}}"#
            try add(id, text, "the field 'total_runs' is \(reason)")
        }
    }

    /// Tasks of which the inventory says something else.
    private mutating func addTimesAndGroups() throws {
        let range = "the field 'created_at' is no time between 1970 and 9999"
        for (id, facts, reason) in [
            ("never", "", "the field 'created_at' is missing"),
            ("late", #","created_at":1e300"#, range), ("early", #","created_at":-1"#, range),
            ("when", #","created_at":"2022""#, "the field 'created_at' is no number"),
            ("one", #","created_at":1,"group_start":1"#, "the field 'group_start' is no text"),
            ("some", #","created_at":1,"group_member":"g""#, "the field 'group_member' is no array of texts"),
        ] {
            try folder.list(raw: #"{"task_persisted_id":"\#(id)"\#(facts)}"#)
            try folder.write("tasks/\(id).json", try CustomerIOFixture.text(of: .init(id: id)))
            reasons.append("tasks/\(id).json: \(reason)")
        }
    }

    /// Tasks whose files are no text, or no files.
    private mutating func addFiles() throws {
        let files = FileManager.default
        let tasks = "\(folder.path)/tasks"
        for (id, reason) in [
            ("gone", "it is missing"), ("folder", "it is a directory"), ("link", "it is a symbolic link"),
            ("pipe", "it is no plain file"), ("bytes", "it is not UTF-8"),
            ("large", "it has more than 33554432 bytes"),
        ] {
            try folder.list(.init(id: id))
            reasons.append("tasks/\(id).json: \(reason)")
        }
        try files.createDirectory(atPath: "\(tasks)/folder.json", withIntermediateDirectories: false)
        try files.createSymbolicLink(atPath: "\(tasks)/link.json", withDestinationPath: "first.json")
        try #require(mkfifo("\(tasks)/pipe.json", 0o600) == 0)
        try Data([0x22, 0xFF, 0x22]).write(to: URL(fileURLWithPath: "\(tasks)/bytes.json"))
        try folder.write("tasks/large.json", "")
        let large = try FileHandle(forWritingTo: URL(fileURLWithPath: "\(tasks)/large.json"))
        try large.truncate(atOffset: 40_000_000)
        try large.close()
    }
}
#endif
