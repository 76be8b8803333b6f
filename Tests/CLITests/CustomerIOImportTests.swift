#if CommandLineTool
import Foundation
import Subprocess
import TestSupport
import Testing

@Suite("Customer.io: sluice import of a queue's folder", .serialized, .watched) struct CustomerIOImportTests {
    private static let facts = """
        SELECT group_concat(line, char(10)) FROM (
            SELECT queue || '|' || kind || '|' || payload || '|' || attempts || '|' || enqueued_at AS line
            FROM sluice_actions ORDER BY id)
        """

    private static let payloads = """
        SELECT group_concat(payload) FROM (SELECT payload FROM sluice_actions ORDER BY id)
        """

    @Test("The order is that of the inventory; kinds, payloads, runs and times come along")
    func order() async throws {
        let place = try Workplace()
        let folder = try CustomerIOFixture(place)
        // Neither the names nor the times of the files are in this order, nor are the times of the tasks.
        try folder.add(.init(id: "C0FFEE00", kind: "identifyProfile", payload: "{\"a\\/b\": 1.00}"))
        try folder.add(.init(id: "0A", payload: #"{"é":"\ud83d\ude42"}"#, runs: 3, createdAt: 1_650_000_002))
        try folder.add(.init(id: "FF.json", payload: "null", createdAt: 1_650_000_001))
        let before = try await snapshot(of: folder.path)
        let result = try await place.sluice("import", "--from", folder.path)
        #expect(result.status == .exited(0), "\(result)")
        #expect(result.output == "3 enqueued, 0 refused, 0 known, 0 ignored\n")
        #expect(result.errors == "")
        #expect(
            try await place.sql(Self.facts) == #"""
                customer-io|identifyProfile|{"a\/b": 1.00}|0|2022-04-15T05:20:00.000000Z
                customer-io|trackEvent|{"é":"\ud83d\ude42"}|3|2022-04-15T05:20:02.000000Z
                customer-io|trackEvent|null|0|2022-04-15T05:20:01.000000Z
                """#
        )
        #expect(try await snapshot(of: folder.path) == before)
        // It runs as it stood there, and the runs count.
        let run = try await place.sluice(
            "run",
            "--exec",
            "cat; echo \" $SLUICE_KIND $SLUICE_ATTEMPT\"",
            "--until-empty"
        )
        #expect(
            run.output == #"""
                {"a\/b": 1.00} identifyProfile 1
                {"é":"\ud83d\ude42"} trackEvent 4
                null trackEvent 1

                """#
        )
    }

    @Test("The folder around it will do, and queue and kind can be named")
    func options() async throws {
        let place = try Workplace()
        let folder = try CustomerIOFixture(place, named: "site/queue")
        try folder.add(.init(id: "A", kind: "trackEvent"))
        let result = try await place.sluice(
            "import",
            "--from",
            place.path(of: "site"),
            "--queue",
            "out",
            "--kind",
            "send",
            "--json"
        )
        #expect(result.output == "{\"enqueued\":1,\"refused\":0,\"known\":0,\"ignored\":0}\n", "\(result)")
        #expect(try await place.sql("SELECT queue || kind FROM sluice_actions") == "outsend")
    }

    @Test("Run again it enqueues nothing twice, be it waiting or gone, and takes what has come since")
    func again() async throws {
        let place = try Workplace()
        let folder = try CustomerIOFixture(place)
        for number in 1...5 { try folder.add(.init(id: "T\(number)", payload: "\(number)")) }
        // The SDK drops all entries of a task when it has run once.
        try folder.list(.init(id: "T2"))
        var result = try await place.sluice("import", "--from", folder.path, "--batch-size", "2")
        #expect(result.output == "5 enqueued, 0 refused, 1 known, 0 ignored\n", "\(result)")
        // One is removed, one runs to its end, one becomes a dead letter.
        _ = try await place.sluice("remove", "2")
        _ = try await place.sluice("skip", "customer-io")
        let script = "read n; test $n = 3 || exit 65"
        _ = try await place.sluice("run", "--exec", script, "--until-empty")
        #expect(try await place.sql(Self.payloads) == "4,5")
        try folder.add(.init(id: "T6", payload: "6"))
        result = try await place.sluice("import", "--from", folder.path)
        #expect(result.status == .exited(0))
        #expect(result.output == "1 enqueued, 0 refused, 6 known, 0 ignored\n", "\(result)")
        #expect(try await place.sql(Self.payloads) == "4,5,6")
    }

    @Test("Entries that cannot be read are listed, each with its reason, and all others are stored in order")
    func hostile() async throws {
        let place = try Workplace()
        let folder = try CustomerIOFixture(place)
        let reasons = try HostileTasks.fill(folder)
        let before = try await snapshot(of: folder.path)
        let result = try await place.sluice("import", "--from", folder.path)
        #expect(result.status == .exited(65))
        #expect(result.output == "2 enqueued, \(reasons.count) refused, 0 known, 0 ignored\n")
        let remarks = result.errors.split(separator: "\n").map(String.init)
        #expect(remarks.count == reasons.count)
        for reason in reasons {
            #expect(remarks.contains("sluice: \(reason)"), "\(reason)\n\(result.errors)")
        }
        #expect(try await place.sql(Self.payloads) == "\"first\",\"last\"")
        #expect(try await snapshot(of: folder.path) == before)
    }

    @Test("The group that a task starts and those that it is a member of come along")
    func groups() async throws {
        let place = try Workplace()
        let folder = try CustomerIOFixture(place)
        try folder.add(.init(id: "A", groupStart: "identified_profile_ada", groupMember: []))
        try folder.add(.init(id: "B", groupMember: ["identified_profile_ada", "registered_push_token7"]))
        try folder.add(.init(id: "C", groupMember: [""]))
        try folder.add(.init(id: "D"))
        let result = try await place.sluice("import", "--from", folder.path)
        #expect(result.status == .exited(65), "\(result)")
        #expect(result.errors == "sluice: tasks/C.json: a group's name must have 1 to 255 bytes and no NUL\n")
        let groups = "SELECT action_id, is_start, name FROM sluice_group_rows ORDER BY action_id, name"
        #expect(
            try await place.sql(groups) == """
                1|1|identified_profile_ada
                2|0|identified_profile_ada
                2|0|registered_push_token7
                """
        )
    }

    @Test("A task from the future, as by a wrong clock, is as old as its import")
    func future() async throws {
        let place = try Workplace()
        let folder = try CustomerIOFixture(place)
        try folder.add(.init(id: "A", createdAt: 4_102_444_800))
        let result = try await place.sluice("import", "--from", folder.path)
        #expect(result.status == .exited(0), "\(result)")
        let age = "SELECT enqueued_at <= strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '1 second')"
        #expect(try await place.sql("\(age) FROM sluice_actions") == "1")
    }

    @Test("What the SDK would not run either is listed and not enqueued")
    func ignored() async throws {
        let place = try Workplace()
        let folder = try CustomerIOFixture(place)
        try folder.add(.init(id: "A"))
        try folder.write("tasks/B.json", try CustomerIOFixture.text(of: .init(id: "B")))
        try folder.write("notes\u{1B}[2J.txt", "")
        let result = try await place.sluice("import", "--from", folder.path)
        #expect(result.status == .exited(0))
        #expect(result.output == "1 enqueued, 0 refused, 0 known, 2 ignored\n")
        #expect(
            result.errors == #"""
                sluice: notes\u{1b}[2J.txt: it is no part of the queue
                sluice: tasks/B.json: it is not in the inventory: it was never added, or it has run

                """#
        )
    }

    @Test(
        "Of an inventory that is not whole the entries before the fault are stored, and the rest is listed",
        arguments: [
            ("", "it ends in its midst"), (", ", "it ends in its midst"),
            (#", {"task_persisted_id":"B","#, "it ends in its midst"), ("] x", "something follows its end"),
        ]
    )
    func cut(end: String, reason: String) async throws {
        let place = try Workplace()
        let folder = try CustomerIOFixture(place)
        try folder.add(.init(id: "A"))
        let whole = try place.text(of: "queue/inventory.json")
        try folder.write("inventory.json", String(whole.dropLast()) + end)
        try folder.write("tasks/B.json", try CustomerIOFixture.text(of: .init(id: "B")))
        let result = try await place.sluice("import", "--from", folder.path)
        #expect(result.status == .exited(65))
        #expect(result.output == "1 enqueued, 1 refused, 0 known, 1 ignored\n", "\(result)")
        #expect(result.errors.contains("sluice: inventory.json: \(reason)\n"), "\(result)")
        #expect(result.errors.contains("sluice: tasks/B.json: it is not in the inventory's readable part"))
    }

    @Test(
        "An inventory that is none at all stores nothing, and each file is listed",
        arguments: ["", " ", "{}"]
    )
    func noArray(text: String) async throws {
        let place = try Workplace()
        let folder = try CustomerIOFixture(place)
        try folder.add(.init(id: "A"))
        try folder.write("inventory.json", text)
        let result = try await place.sluice("import", "--from", folder.path)
        #expect(result.status == .exited(65))
        #expect(result.output == "0 enqueued, 1 refused, 0 known, 1 ignored\n", "\(result)")
        #expect(result.errors.contains("inventory.json: it is \(text == "{}" ? "no JSON array" : "empty")"))
    }

    @Test("A queue that takes other sort keys refuses the folder at once, and nothing is stored")
    func otherOrder() async throws {
        let place = try Workplace()
        _ = try await place.sluice(
            "enqueue",
            "--queue",
            "q",
            "--kind",
            "k",
            "--payload",
            "1",
            "--sort-key",
            "5"
        )
        let folder = try CustomerIOFixture(place)
        for number in 1...5 { try folder.add(.init(id: "T\(number)")) }
        let result = try await place.sluice("import", "--from", folder.path, "--queue", "q")
        #expect(result.status == .exited(65))
        #expect(result.errors.split(separator: "\n").count == 2, "\(result)")
        #expect(result.errors.contains("the queue 'q' is ordered by integer"))
        #expect(try await place.actions().count == 1)
    }

    @Test("Many tasks are imported in their order, in bounded time and memory", .needs("python3"))
    func many() async throws {
        let place = try Workplace()
        let script = try place.write(
            "make.py",
            """
            import base64, json, os, sys
            folder, count = sys.argv[1], int(sys.argv[2])
            os.makedirs(folder + '/tasks')
            inventory = []
            for n in range(count):
                id = '%08X-0000-4000-8000-%012X' % ((n * 2654435761) % 2**32, n)
                with open(folder + '/tasks/' + id + '.json', 'w') as file:
                    data = base64.b64encode(json.dumps({'n': n}).encode()).decode()
                    json.dump({'data': data, 'run_results': {'total_runs': n % 3}, 'storage_id': id,
                        'type': 'trackEvent'}, file)
                inventory.append({'created_at': 1650000000 + n, 'group_member': ['identified_profile_ada'],
                    'task_persisted_id': id, 'task_type': 'trackEvent'})
            json.dump(inventory, open(folder + '/inventory.json', 'w'))
            """
        )
        let measure = try place.write(
            "measure.py",
            """
            import resource, subprocess, sys
            status = subprocess.run(sys.argv[1:]).returncode
            usage = resource.getrusage(resource.RUSAGE_CHILDREN)
            print(status, round(usage.ru_utime + usage.ru_stime), usage.ru_maxrss // 1024)
            """
        )
        let count = Reliability.number("SLUICE_IMPORT_TASKS", usually: 100_000, short: 10_000)
        let folder = place.path(of: "queue")
        let made = try await Tool.launch("python3", [script, folder, "\(count)"])
        try #require(made.status == .exited(0), "\(made)")
        let arguments = [measure, Tool.path, "import", "--file", place.path, "--from", folder]
        let result = try await Tool.launch("python3", arguments)
        #expect(result.lines.first == "\(count) enqueued, 0 refused, 0 known, 0 ignored", "\(result)")
        let measured = try #require(result.lines.last).split(separator: " ").compactMap { Int($0) }
        try #require(measured.count == 3)
        #expect(measured[0] == 0)
        // Seconds of the processor's in a debug build, and MB: neither the inventory nor the tasks are held,
        // but for the names of files.
        #expect(measured[1] < 120, "\(result)")
        #expect(measured[2] < 150, "\(result)")
        let disorder = """
            SELECT count(*), sum(n <> id - 1), sum(attempts <> n % 3)
            FROM (SELECT id, attempts, payload ->> 'n' AS n FROM sluice_actions)
            """
        #expect(try await place.sql(disorder) == "\(count)|0|0")
    }
}
#endif
