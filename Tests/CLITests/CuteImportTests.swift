#if CommandLineTool
import Foundation
import Subprocess
import TestSupport
import Testing

@Suite("Cute: sluice import of a folder of job files", .serialized, .watched) struct CuteImportTests {
    private func job(_ id: String, _ seconds: Double, _ action: String = "upload") -> CuteJob {
        CuteJob(id: id, createdDate: Date(timeIntervalSince1970: seconds), data: nil, action: action)
    }

    @Test("The order is that of the jobs' dates; a payload is the whole job, and decodes as its type")
    func order() async throws {
        let place = try Workplace()
        let folder = place.path(of: "Photo-Uploads")
        var first = job("z", 999_999_999.25)
        first.data = Data([0xFF, 0xD8, 0x2F])
        first.album = "Ämter/1"
        // By name the first would be the last, and the last the first.
        let jobs = [first, job("b", 1_000_000_000), job("c", 1_000_000_000), job("a", 1_000_000_000.5, "")]
        for job in jobs.reversed() { try job.write(to: folder) }
        let before = try await snapshot(of: folder)
        let result = try await place.sluice("import", "--from", folder)
        #expect(result.status == .exited(0), "\(result)")
        #expect(result.output == "4 enqueued, 0 refused, 0 known, 0 ignored\n")
        #expect(result.errors == "")
        #expect(try await snapshot(of: folder) == before)
        let facts = """
            SELECT group_concat(line, ' ') FROM (
                SELECT queue || '|' || kind || '|' || enqueued_at AS line FROM sluice_actions ORDER BY id)
            """
        let times = ["01:46:39.250000Z", "01:46:40.000000Z", "01:46:40.000000Z", "01:46:40.500000Z"]
        let lines = zip(times, ["upload", "upload", "upload", "job"]).map { time, kind in
            "Photo-Uploads|\(kind)|2001-09-09T\(time)"
        }
        #expect(try await place.sql(facts) == lines.joined(separator: " "))
        let payloads = try await place.sql("SELECT payload FROM sluice_action_rows ORDER BY id")
        let decoded = try payloads.split(separator: "\n").map {
            try JSONDecoder().decode(CuteJob.self, from: Data($0.utf8))
        }
        #expect(decoded == jobs)
    }

    @Test("Run again it enqueues nothing twice; an id that is used again is another job")
    func again() async throws {
        let place = try Workplace()
        let folder = place.path(of: "sync")
        for second in 1...4 { try job("sync", Double(second)).write(to: folder) }
        var result = try await place.sluice("import", "--from", folder, "--kind", "sync", "--queue", "s")
        #expect(result.output == "4 enqueued, 0 refused, 0 known, 0 ignored\n", "\(result)")
        let script = "test $SLUICE_ID -lt 3 || exit 65"
        _ = try await place.sluice("run", "--exec", script, "--until-empty")
        #expect(try await place.actions().count == 2)
        try job("sync", 5).write(to: folder)
        result = try await place.sluice("import", "--from", folder, "--kind", "sync", "--queue", "s")
        #expect(result.output == "1 enqueued, 0 refused, 4 known, 0 ignored\n", "\(result)")
        #expect(try await place.sql("SELECT group_concat(kind) FROM sluice_actions") == "sync,sync,sync")
    }

    @Test("Jobs that cannot be read are listed, each with its reason, and all others are stored in order")
    func hostile() async throws {
        let place = try Workplace()
        let folder = place.path(of: "jobs")
        try job("first", 1).write(to: folder)
        try job("last", 9).write(to: folder)
        let files = FileManager.default
        let bad = [
            ("empty", "", "it is empty"), ("cut", #"{"id":"x","#, "it is not valid JSON"),
            ("list", "[]", "it is no JSON object"), ("none", "{}", "the field 'createdDate' is missing"),
            ("text", #"{"createdDate":"2001"}"#, "the field 'createdDate' is no number"),
            ("no-action", #"{"createdDate":1}"#, "the field 'action' is missing"),
            (
                "old", #"{"createdDate":-1e10,"action":"a"}"#,
                "the field 'createdDate' is no time between 1970 and 9999"
            ),
        ]
        var reasons = try bad.map { name, text, reason in
            try Data(text.utf8).write(to: URL(fileURLWithPath: "\(folder)/\(name).json"))
            return "\(name).json: \(reason)"
        }
        try Data([0xFF]).write(to: URL(fileURLWithPath: "\(folder)/bytes.json"))
        reasons.append("bytes.json: it is not UTF-8")
        try files.createDirectory(atPath: "\(folder)/folder.json", withIntermediateDirectories: false)
        reasons.append("folder.json: it is a directory")
        let target = "1.0-first.json"
        try files.createSymbolicLink(atPath: "\(folder)/link.json", withDestinationPath: target)
        reasons.append("link.json: it is a symbolic link")
        try #require(mkfifo("\(folder)/pipe.json", 0o600) == 0)
        reasons.append("pipe.json: it is no plain file")
        try Data().write(to: URL(fileURLWithPath: "\(folder)/.DS_Store"))
        reasons.append(".DS_Store: a job's file has a name that ends in .json")
        let before = try await snapshot(of: folder)
        let result = try await place.sluice("import", "--from", folder)
        #expect(result.status == .exited(65))
        let refused = reasons.count - 1
        #expect(result.output == "2 enqueued, \(refused) refused, 0 known, 1 ignored\n", "\(result)")
        let remarks = result.errors.split(separator: "\n").map(String.init)
        #expect(remarks.sorted() == reasons.map { "sluice: \($0)" }.sorted())
        let stored = """
            SELECT group_concat(name)
            FROM (SELECT payload ->> 'id' AS name FROM sluice_action_rows ORDER BY id)
            """
        #expect(try await place.sql(stored) == "first,last")
        #expect(try await snapshot(of: folder) == before)
    }

    @Test("A folder whose jobs are done enqueues nothing, if it is said to be Cute's")
    func empty() async throws {
        let place = try Workplace()
        let folder = place.path(of: "done")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        let asked = try await place.sluice("import", "--from", folder)
        #expect(asked.status == .exited(66))
        #expect(asked.errors.contains("--format cute"), "\(asked)")
        let told = try await place.sluice("import", "--from", folder, "--format", "cute")
        #expect(told.status == .exited(0))
        #expect(told.output == "0 enqueued, 0 refused, 0 known, 0 ignored\n")
    }
}

@Suite("What sluice import reads", .watched) struct ImportSourceTests {
    private var job: CuteJob {
        CuteJob(id: "1", createdDate: Date(timeIntervalSince1970: 1_000_000_000), data: nil, action: "upload")
    }

    @Test("What is not there, or not what it is said to be, ends with 66 and makes no file of queues")
    func noInput() async throws {
        let place = try Workplace()
        let lines = try place.write("lines.jsonl", "")
        let tasks = place.path(of: "without")
        let cute = place.path(of: "backup/Cute")
        try job.write(to: "\(cute)/Queues/Uploads")
        let folder = try CustomerIOFixture(place, named: "io.customer/site/queue").path
        _ = try place.write("io.customer/site/queue/inventory.json", "[]")
        let linked = place.path(of: "linked")
        for path in ["\(tasks)/tasks", linked] {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        }
        _ = try place.write("linked/inventory.json", "[]")
        try FileManager.default.createSymbolicLink(
            atPath: "\(linked)/tasks",
            withDestinationPath: "\(tasks)/tasks"
        )
        for (arguments, reason) in [
            ([place.path(of: "missing")], "cannot be read"),
            ([lines, "--format", "cute"], "it is no folder"),
            (["-", "--format", "customer-io"], "it is no folder"),
            ([tasks], "it has tasks and no inventory.json"),
            ([cute], "; its folder \(cute)/Queues/Uploads has"),
            ([cute, "--format", "cute"], "has no job files; its folder \(cute)/Queues/Uploads has"),
            ([place.path(of: "io.customer")], "; its folder \(place.path(of: "io.customer"))/site has"),
            (
                [place.path(of: "io.customer"), "--format", "customer-io"],
                "it has no inventory.json; its folder \(place.path(of: "io.customer"))/site has"
            ),
            (["\(folder)/tasks"], "is a part of the queue in"),
            ([tasks, "--format", "customer-io"], "it has no inventory.json"),
            ([tasks, "--format", "lines"], "it is a folder"),
            ([linked], "tasks cannot be read: it is a symbolic link"),
        ] {
            let result = try await Tool.run(["import", "--file", place.path, "--from"] + arguments)
            #expect(result.status == .exited(66), "\(arguments) \(result)")
            #expect(result.errors.contains(reason), "\(arguments) \(result)")
            #expect(!FileManager.default.fileExists(atPath: place.path))
        }
    }

    @Test("Options of lines are refused with a folder, and those of a folder with lines")
    func options() async throws {
        let place = try Workplace()
        let lines = try place.write("lines.jsonl", "")
        let folder = try CustomerIOFixture(place).path
        _ = try place.write("queue/inventory.json", "[]")
        for arguments in [
            [folder, "--skip-bad"], [folder, "--first-line", "2"], [lines, "--queue", "q"],
            [lines, "--kind", "k"], ["-", "--format", "xml"],
        ] {
            let result = try await Tool.run(["import", "--file", place.path, "--from"] + arguments)
            #expect(result.status == .exited(64), "\(arguments) \(result)")
            #expect(result.errors.hasPrefix("sluice: "))
        }
        let empty = try await place.sluice("import", "--from", folder)
        #expect(empty.status == .exited(0))
        #expect(empty.output == "0 enqueued, 0 refused, 0 known, 0 ignored\n")
    }
}
#endif
