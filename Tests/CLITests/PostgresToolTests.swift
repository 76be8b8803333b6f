#if CommandLineTool && PostgreSQL
import Foundation
import Subprocess
import TestSupport
import Testing

/// Each verb on a server, as a user runs it.
@Suite(
    "The tool on PostgreSQL",
    .watched(minutes: 3),
    .enabled(if: TestServer.isToRun, "`make test-all` runs it, where there is a server")
)
struct PostgresToolTests {
    @Test("queues, show and actions tell what waits, and why")
    func look() async throws {
        let place = try ServerPlace()
        try await place.enqueue("mail/a", "mail/b", "chat")
        try await place.output(
            "enqueue",
            "--queue",
            "mail/b",
            "--kind",
            "k",
            "--payload",
            "\"é\"",
            "--tag",
            "t",
            "--key",
            "key",
            "--gate",
            "network",
            "--expires-at",
            "2999-01-01"
        )
        try await place.output("hold", "--queue", "mail/*", "--by", "Ana", "--reason", "the server moves")
        let queues = try await place.queues()
        #expect(queues.compactMap { $0["queue"] as? String } == ["chat", "mail/a", "mail/b"])
        #expect(queues.compactMap { $0["state"] as? String } == ["stopped", "held", "held"])
        let because = try #require(queues[1]["because"] as? String)
        #expect(because == "held by Ana: the server moves", "\(because)")
        let held = try await place.sluice("queues", "--json", "--because", "held", "--state", "held")
            .objects()
        #expect(held.count == 2)
        let shown = try await place.output("show", "mail/b")
        #expect(shown.contains("hold 1       mail/* by Ana: the server moves"), "\(shown)")
        let action = try #require(try await place.sluice("show", "--id", "4", "--json").objects().first)
        #expect(action["tag"] as? String == "t" && action["key"] as? String == "key")
        #expect(action["gate"] as? String == "network" && action["ahead"] as? Int == 1)
        let actions = try await place.sluice("actions", "--queue", "mail/*", "--json").objects()
        #expect(actions.compactMap { $0["id"] as? Int } == [1, 2, 4])
        #expect(try await place.sluice("show", "none").status == .exited(1))
        #expect(try await place.sluice("show", "--id", "99").status == .exited(1))
    }

    @Test("enqueue stores one action; a key is taken once, and groups are refused")
    func enqueue() async throws {
        let place = try ServerPlace()
        let first = try await place.output(
            "enqueue",
            "--queue",
            "q",
            "--kind",
            "k",
            "--key",
            "x",
            input: "1\n"
        )
        let again = try await place.output(
            "enqueue",
            "--queue",
            "q",
            "--kind",
            "k",
            "--key",
            "x",
            input: "2\n"
        )
        #expect(first == "1" && again == "1")
        let refused = try await place.sluice(
            "enqueue",
            "--queue",
            "q",
            "--kind",
            "k",
            "--key",
            "x",
            "--key-policy",
            "refuse",
            input: "3\n"
        )
        #expect(refused.status == .exited(65), "\(refused)")
        let grouped = try await place.sluice(
            "enqueue",
            "--queue",
            "q",
            "--kind",
            "k",
            "--group",
            "g",
            input: "3\n"
        )
        #expect(
            grouped.status == .exited(65) && grouped.errors.contains("groups of actions need"),
            "\(grouped)"
        )
    }

    @Test("enqueue --from stores the lines of a file, and refuses one by one")
    func enqueueLines() async throws {
        let place = try ServerPlace()
        let lines = """
            {"room": "a", "at": 2}
            {"room": "b", "at": 1}
            {"room": "a", "at": "later"}
            {"room": "a", "at": 1}

            """
        let many = try await place.sluice(
            "enqueue",
            "--kind",
            "m",
            "--from",
            "-",
            "--queue-field",
            "room",
            "--queue-prefix",
            "chat/",
            "--sort-field",
            "at",
            input: lines
        )
        #expect(many.status == .exited(65), "\(many)")
        #expect(many.output == "3 enqueued, 1 refused\n")
        #expect(
            many.errors.contains("line 3: the actions of the queue 'chat/a' have another type"),
            "\(many)"
        )
        let actions = try await place.sluice("actions", "--queue", "chat/*", "--json").objects()
        #expect(actions.compactMap { ($0["payload"] as? [String: Any])?["at"] as? Int } == [1, 2, 1])
    }

    @Test("move, edit, reschedule, expire and remove change actions")
    func change() async throws {
        let place = try ServerPlace()
        try await place.enqueue("a", "a", "a", "b")
        #expect(try await place.output("move", "3", "--front") == "3 is at the front of its queue")
        #expect(try await place.output("move", "2", "--to", "b") == "2 is moved to b")
        #expect(try await place.output("edit", "1", "--payload", #"{"x":1}"#) == "1 has a new payload")
        let wrong = try await place.sluice("edit", "1", "--payload", "{")
        #expect(wrong.status == .exited(65) && wrong.errors.contains("is not JSON"), "\(wrong)")
        try await place.output("reschedule", "4", "--at", "2999-01-01")
        try await place.output("expire", "1", "--at", "2998-01-01")
        let actions = try await place.sluice("actions", "--json").objects()
        #expect(actions.compactMap { $0["id"] as? Int } == [3, 1, 2, 4])
        #expect((actions[1]["payload"] as? [String: Any])?["x"] as? Int == 1)
        #expect(actions[3]["not_before"] as? String == "2999-01-01T00:00:00.000000Z")
        #expect(try await place.output("show", "--id", "1").contains("2998-01-01T00:00:00"))
        try await place.output("expire", "1", "--never")
        #expect(try await place.output("show", "--id", "1").contains("2998") == false)
        try await place.output("reschedule", "4", "--now")
        #expect(try await place.output("remove", "3") == "3 is removed")
        #expect(try await place.sluice("remove", "3").status == .exited(1))
        #expect(try await place.output("remove", "--queue", "b") == "2 removed, 0 signalled")
        #expect(try await place.output("remove", "--all") == "1 removed, 0 signalled")
    }

    @Test("hold, pause, resume, holds and gate decide what starts")
    func gatesAndHolds() async throws {
        let place = try ServerPlace()
        try await place.enqueue("mail/a")
        #expect(try await place.output("pause", "mail/*", "--for", "2h") == "mail/* is paused by hold 1")
        #expect(try await place.output("hold", "--queue", "mail/a", "--by", "Bo") == "2")
        #expect(try await place.sluice("holds", "--json").objects().count == 2)
        #expect(try await place.output("resume", "mail/*").contains("has ended"))
        #expect(try await place.output("resume", "--all").contains("hold 2 of mail/a by Bo has ended"))
        #expect(try await place.sluice("resume", "none").status == .exited(1))
        try await place.output("gate open", "network")
        try await place.output("gate close", "account", "--for", "15m")
        let gates = try await place.sluice("gate list", "--json").objects()
        #expect(gates.compactMap { $0["gate"] as? String } == ["account", "network"])
        #expect(gates.compactMap { $0["state"] as? String } == ["closed", "open"])
        #expect(gates[0]["opens_at"] as? String != nil)
    }

    @Test("A failed action parks its queue; retry, skip and the verbs of dead letters deal with it")
    func deadLetters() async throws {
        let place = try ServerPlace()
        try await place.enqueue("a", "a", "b")
        let run = try await place.sluice("run", "--exec", "echo no such room >&2; exit 65", "--until-empty")
        #expect(run.status == .exited(1), "\(run)")
        #expect(run.errors.contains("2 queues still have actions: 2 parked"), "\(run)")
        let because = try await place.queues().compactMap { $0["because"] as? String }
        #expect(
            because.first == "parked by action 1 after failure (failed): exited with 65: no such room",
            "\(because)"
        )
        #expect(try await place.output("retry", "--queue", "a") == "1 queue is tried again")
        #expect(try await place.output("skip", "a", "--reason", "gone").hasPrefix("1 is skipped"))
        #expect(try await place.output("skip", "b").hasPrefix("3 is skipped"))
        let letters = try await place.sluice("dead list", "--json").objects()
        #expect(letters.compactMap { $0["id"] as? Int } == [3, 1])
        let shown = try await place.output("dead show", "1")
        #expect(shown.contains("gone") && shown.contains("exited with 65: no such room"), "\(shown)")
        #expect(try await place.sluice("dead show", "2").status == .exited(1))
        #expect(try await place.output("dead requeue", "1") == "1 is requeued")
        let moved = try #require(
            try await place.sluice("dead requeue", "3", "--at-end", "--json").objects().first
        )
        #expect(moved["new_id"] as? Int == 4)
        #expect(try await place.sluice("show", "--id", "4", "--json").objects()[0]["attempts"] as? Int == 0)
        let history = try await place.output("show", "--id", "4")
        #expect(history.contains("exited with 65: no such room"), "\(history)")
        let order = try await place.sluice("actions", "--json").objects().compactMap { $0["id"] as? Int }
        #expect(order == [1, 2, 4])
        _ = try await place.sluice("run", "--exec", "exit 65", "--until-empty", "--on-failure", "skip")
        #expect(try await place.sluice("dead list", "--json").objects().count == 3)
        #expect(try await place.output("dead requeue", "--queue", "b") == "1 dead letter is requeued")
        #expect(
            try await place.output("dead purge", "--all", "--older-than", "1h") == "0 dead letters are purged"
        )
        #expect(try await place.output("dead purge", "--all", "--keep", "1") == "1 dead letter is purged")
        #expect(try await place.output("dead purge", "--queue", "a").hasPrefix("1 dead letter is purged"))
        #expect(try await place.sluice("dead purge", "1").status == .exited(1))
    }

    @Test("watch writes a line for each change of a queue's state")
    func watch() async throws {
        let place = try ServerPlace()
        try await place.enqueue("a")
        var states: [String] = []
        let status = try await Tool.follow(["watch", "--json"] + place.options) { line, send in
            let change = try #require(
                try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            )
            let state = try #require(change["state"] as? String)
            states.append(state)
            switch state {
            case "stopped": try await place.output("hold", "--queue", "a")
            case "held": try await place.output("remove", "--all")
            default: try send(.interrupt)
            }
        }
        #expect(status == .exited(0))
        #expect(states == ["stopped", "held", "drained"])
    }

    @Test("Completion offers the names of queues")
    func completion() async throws {
        let place = try ServerPlace()
        try await place.enqueue("mail/a", "mail/b", "chat")
        let words = ["sluice", "show"] + place.options + ["mail"]
        let index = "\(words.count - 1)"
        let result = try await Tool.launch(
            "env",
            ["SAP_SHELL=bash", Tool.path, "---completion", "show", "--", "positional@0", index, "4"] + words
        )
        #expect(result.lines.sorted() == ["mail/a", "mail/b"], "\(result)")
    }

    @Test("The commands of the guide do what it has them do, in its order")
    func guide() async throws {
        let place = try ServerPlace()
        let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appending(path: "../../Sources/SluicePostgres/SluicePostgres.docc/SluicePostgres.md")
        let text = try String(contentsOf: page, encoding: .utf8)
        // The start before these, which makes a server, has a test of its own.
        let later = try #require(text.components(separatedBy: "### When to move").last)
        let blocks = later.components(separatedBy: "```sh\n").dropFirst().compactMap {
            $0.components(separatedBy: "```").first
        }
        #expect(blocks.count == 2)
        // An address may have the schema of the queues no more than psql's: the tool's default is in a
        // database of its own.
        let database = "guide_\(UInt64.random(in: 0 ... .max))"
        try await place.sql("CREATE DATABASE \(database)")
        let url = place.server.url.replacing("/postgres?", with: "/\(database)?")
        let commands = blocks.joined().replacing("postgres://sluice@db.example/app", with: url)
        let outbox = #"sluice enqueue --file outbox.sqlite --queue mail/bo --kind mail --payload '{}'"#
        let tools = (Tool.path as NSString).deletingLastPathComponent
        let script = try place.files.write(
            "guide.sh",
            "set -eu\ncd '\(place.files.directory)'\nPATH='\(tools)':$PATH\n\(outbox)\n" + commands
        )
        let result = try await Tool.launch("/bin/sh", ["-x", script])
        #expect(result.status == .exited(0), "\(result)")
        for line in ["1 enqueued, 0 refused", #"{"to": "ada@example.org"}"#, "see the lines with !"] {
            #expect(result.lines.contains(line), "\(line): \(result)")
        }
        #expect(result.output.contains("broker stopped"), "\(result)")
    }

    @Test("What a server cannot do is refused, with what to do instead")
    func refused() async throws {
        let place = try ServerPlace()
        let backup = try await place.sluice("backup", "copy.sqlite")
        #expect(backup.status == .exited(64) && backup.errors.contains("pg_dump"), "\(backup)")
        let full = try await place.sluice("doctor", "--full")
        #expect(full.status == .exited(64) && full.errors.contains("pg_amcheck"), "\(full)")
        let fixture = try CustomerIOFixture(place.files)
        try fixture.add(.init(id: "1"))
        let folder = try await place.sluice("import", "--from", fixture.path)
        #expect(folder.status == .exited(64) && folder.errors.contains("sluice export --file"), "\(folder)")
        for options in [["--discipline", "concurrent:4"], ["--batch", "5"]] {
            let run = try await Tool.run(["run"] + place.options + ["--exec", "true"] + options)
            #expect(run.status == .exited(64) && run.errors.contains("need --file"), "\(run)")
        }
        let short = try await place.sluice("run", "--exec", "true", "--lease", "5s")
        #expect(short.status == .exited(64) && short.errors.contains("--kill-after"), "\(short)")
        let lease = try await place.files.sluice("run", "--exec", "true", "--lease", "5s")
        #expect(lease.status == .exited(64) && lease.errors.contains("--lease needs --postgres"), "\(lease)")
    }
}
#endif
