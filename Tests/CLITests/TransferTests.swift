#if CommandLineTool
import Foundation
import Sluice
import Subprocess
import TestSupport
import Testing

@Suite("sluice export and sluice import", .serialized, .watched) struct TransferTests {
    /// All that an operator sees of each action, but for what belongs to the file.
    private static let facts = """
        SELECT hex(queue), hex(kind), typeof(sort_key), hex(sort_key), hex(payload), version, hex(tag),
               hex(gate), not_before, expires_at
        FROM sluice_actions ORDER BY id
        """

    /// A file whose every column holds something unusual.
    private func hostile() async throws -> Workplace {
        let place = try Workplace()
        func enqueue(_ queue: String, _ payload: String, _ key: [String] = []) async throws {
            let arguments = [
                "enqueue", "--file", place.path, "--queue", queue, "--kind", "k \u{1B}\"\\", "--payload",
            ]
            let result = try await Tool.run(arguments + [payload] + key)
            try #require(result.status == .exited(0), "\(result)")
        }
        try await enqueue(
            "a\u{1B}[2J\r\n\u{202E}\"\\",
            #"{"b" : 1.00, "a":"\ud800 \u0000 é \#u{202E}\#u{85}","a":2}"#
        )
        try await enqueue("e\u{301}", "12345678901234567890123.000e-5")
        try await enqueue("é", "[ ]")
        try await enqueue("dates", "1", ["--sort-key", "0001-01-01T00:00:00.000001", "--sort-type", "date"])
        try await enqueue("dates", "2", ["--sort-key", "0001-01-01T00:00:00.000002"])
        try await enqueue("dates", "3", ["--sort-key", "9999-12-31T23:59:59"])
        try await enqueue("integers", "1", ["--sort-key", "-9223372036854775808"])
        try await enqueue("integers", "2", ["--sort-key", "9223372036854775807"])
        try await enqueue("reals", "1", ["--sort-key", "0.1"])
        try await enqueue("reals", "2", ["--sort-key", "-inf", "--sort-type", "real"])
        try await enqueue("reals", "3", ["--sort-key", "5e-324", "--sort-type", "real"])
        try await enqueue("texts", "null", ["--sort-key", "\u{1}\n{}", "--sort-type", "text"])
        _ = try await place.sql(
            """
            UPDATE sluice_actions SET tag = 'é' || char(10) || '"', gate = 'network' || char(27),
                version = 7, not_before = '2999-01-01T00:00:00.000001Z',
                expires_at = '3000-01-01T00:00:00Z' WHERE id = 3;
            UPDATE sluice_action_rows SET expires_at_us = 9000000000000000000 WHERE id = 2;
            INSERT INTO sluice_group_rows (action_id, name, is_start, queue_id)
            SELECT g.column1, g.column2, g.column3, a.queue_id
            FROM (VALUES (4, 'a' || char(10) || '"', 1), (5, 'é', 0), (5, 'b', 0), (5, 'b', 1)) AS g
            JOIN sluice_action_rows AS a ON a.id = g.column1;
            UPDATE sluice_action_rows SET trace =
                '{"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",' || char(10)
                || '"baggage":"é=\\u000a"}' WHERE id = 3;
            """
        )
        return place
    }

    @Test("What is exported and imported has the same facts in the same order, whatever they hold")
    func roundTrip() async throws {
        let place = try await hostile()
        let exported = try await place.sluice("export")
        #expect(exported.status == .exited(0))
        #expect(exported.lines.count == 12)
        let other = try Workplace()
        let imported = try await other.sluice("import", "--from", "-", input: exported.output)
        #expect(imported.status == .exited(0), "\(imported)")
        #expect(imported.output == "12 enqueued, 0 refused\n")
        #expect(try await other.sql(Self.facts) == place.sql(Self.facts))
        // A line break between its parts has become a space.
        let trace = "SELECT group_concat(id || replace(trace, char(10), ' ')) FROM sluice_action_rows"
        let traces = try await other.sql(trace)
        let groups = "SELECT group_concat(quote(name) || action_id || is_start) FROM sluice_group_rows"
        #expect(try await other.sql(groups) == place.sql(groups))
        #expect(traces.hasPrefix(#"3{"traceparent":"00-0af"#) && traces.hasSuffix(#""baggage":"é=\u000a"}"#))
        #expect(try await place.sql(trace) == traces)
        let again = try await other.sluice("export")
        #expect(again.output == exported.output)
        #expect(try await other.sql("PRAGMA integrity_check") == "ok")
    }

    @Test("Every line is JSON, with the payload as it stands in the file")
    func lines() async throws {
        let place = try Workplace()
        _ = try await place.sluice(
            "enqueue",
            "--queue",
            "q",
            "--kind",
            "k",
            "--payload",
            "{\"b\" :\n1.00}",
            "--sort-key",
            "5"
        )
        let exported = try await place.sluice("export")
        #expect(
            exported.output
                == #"{"id":1,"queue":"q","kind":"k","sort_type":"integer","sort_key":5,"#
                + #""payload":{"b" : 1.00}}"#
                + "\n"
        )
    }

    @Test("A composite key is a text with its type")
    func compositeKeys() async throws {
        let place = try Workplace()
        let line = #"{"queue":"q","kind":"k","payload":1,"sort_type":"composite:integer,text","sort_key":"#
        let key = #""0000000000000000007\té"}"#
        let imported = try await place.sluice("import", "--from", "-", input: line + key + "\n")
        #expect(imported.output == "1 enqueued, 0 refused\n", "\(imported)")
        let exported = try #require(try await place.sluice("export").objects().first)
        #expect(exported["sort_type"] as? String == "composite:integer,text")
        #expect(exported["sort_key"] as? String == "0000000000000000007\té")
    }

    @Test("Only the queues that are named are exported")
    func selection() async throws {
        let place = try Workplace()
        try await place.enqueue("a/1", "b", "a/2")
        let queues = try await place.sluice("export", "--queue", "a/*").objects().map {
            $0["queue"] as? String
        }
        #expect(queues == ["a/1", "a/2"])
        #expect(try await place.sluice("export", "--queue", "a*").status == .exited(64))
    }

    @Test("A page ends with its bytes or its actions, and the next one goes on behind it")
    func pages() async throws {
        let place = try Workplace()
        let large = String(repeating: "x", count: 2_900_000)
        let sizes = (1...2_500).map { $0 % 800 == 0 ? "\"\(large)\"" : "\($0)" }
        let from = try place.write("in.jsonl", sizes.joined(separator: "\n"))
        let enqueued = try await place.sluice("enqueue", "--from", from, "--kind", "k", "--queue", "q")
        try #require(enqueued.status == .exited(0))
        let script =
            "'\(Tool.path)' export --file '\(place.path)' "
            + "| '\(Tool.path)' import --file '\(place.path)2' --from -"
        let piped = try await Tool.launch("/bin/sh", ["-c", script])
        #expect(piped.output == "2500 enqueued, 0 refused\n", "\(piped)")
        let sum = "SELECT count(*), sum(length(payload)), sum(id * length(payload)) FROM sluice_actions"
        let other = try await Tool.launch("sqlite3", [place.path + "2", sum]).output
        #expect(try await other == place.sql(sum) + "\n")
    }

    private static let bad = """
        {"queue":"q","kind":"k","payload":1}
        {"queue":"q","kind":"k","payload":2

        {"queue":"q","kind":"k","payload":3,"colour":"red"}
        {"queue":"q","kind":"k","payload":4,"sort_type":"integer","sort_key":4}
        {"queue":"q","payload":5}
        {"queue":"q","kind":"k","payload":6,"kind":"l"}
        {"queue":"q","kind":"k","payload":7,"version":0}
        {"queue":"q","kind":"k","payload":8,"not_before":"soon"}
        {"queue":"q","kind":"k","payload":9,"sort_key":4}
        [10]
        {"queue":"q","kind":"k","payload":11}
        """

    @Test("A place that an action has left does not have it exported twice")
    func leftPlaces() async throws {
        let place = try Workplace()
        let lines = (1...3).map { #"{"queue":"q","kind":"k","payload":\#($0)}"# + "\n" }.joined()
        _ = try await place.sluice("import", "--from", "-", input: lines)
        for id in ["2", "3", "2"] { _ = try await place.sluice("move", id, "--front") }
        // As the engine writes many places at once, and deletes left ones later.
        _ = try await place.sql(
            """
            INSERT INTO sluice_order_rows SELECT queue_id, sort_key, id FROM sluice_action_rows;
            INSERT INTO sluice_order_rows SELECT queue_id, -1, id FROM sluice_action_rows WHERE id = 2;
            UPDATE sluice_counters SET value = 3 WHERE name = 'ordered';
            """
        )
        let exported = try await place.sluice("export").objects()
        #expect(exported.map { $0["payload"] as? Int } == [2, 3, 1])
    }

    @Test("The first of a last in, first out queue is exported last, and then is the first again")
    func lastInFirstOut() async throws {
        let (place, other) = (try Workplace(), try Workplace())
        let lines = (1...3).map { #"{"queue":"q","kind":"k","payload":\#($0)}"# + "\n" }.joined()
        _ = try await place.sluice("import", "--from", "-", input: lines)
        let broker = try await Broker(file: place.path)
        try broker.configure("q", QueueOptions(discipline: .lastInFirstOut))
        try await broker.moveToFront(ActionID(rawValue: 1))
        await broker.close()
        let exported = try await place.sluice("export")
        _ = try await other.sluice("import", "--from", "-", input: exported.output)
        #expect(try await other.actions().map { $0["payload"] as? Int } == [2, 3, 1])
    }

    @Test("The first line that is refused ends the import, which can go on from there")
    func stops() async throws {
        let place = try Workplace()
        let result = try await place.sluice("import", "--from", "-", input: Self.bad)
        #expect(result.status == .exited(65))
        #expect(
            result.errors == """
                sluice: line 2: it is not valid JSON
                sluice: stopped at line 2: 1 enqueued
                sluice: the lines before 2 are stored; correct line 2 and continue with --first-line 2, or \
                skip such lines with --skip-bad

                """
        )
        #expect(try await place.actions().count == 1)
        // It is noticed when a later line has been read.
        let other = try Workplace()
        let lines = """
            {"queue":"q","kind":"k","payload":1}
            {"queue":"","kind":"k","payload":2}
            {"queue":"q","kind":"k","payload":3}
            """
        let late = try await other.sluice("import", "--from", "-", input: lines)
        #expect(late.errors.contains("sluice: stopped at line 2: 1 enqueued"), "\(late)")
        let mended = Self.bad.replacing("\"payload\":2\n", with: "\"payload\":2}\n")
        let further = try await place.sluice("import", "--from", "-", "--first-line", "2", input: mended)
        #expect(further.errors.hasPrefix("sluice: line 4: it has a field 'colour' that no action has"))
        #expect(try await place.actions().map { $0["payload"] as? Int } == [1, 2])
    }

    @Test("With --skip-bad every other line is stored, and each that is refused has its reason")
    func skips() async throws {
        let place = try Workplace()
        let result = try await place.sluice("import", "--from", "-", "--skip-bad", "--json", input: Self.bad)
        #expect(result.status == .exited(65))
        #expect(result.output == "{\"enqueued\":2,\"refused\":9}\n")
        for line in [
            "line 2: it is not valid JSON", "line 4: it has a field 'colour'",
            "line 5: the queue 'q' is ordered by arrival", "line 6: the field 'kind' is missing",
            "line 7: it has the field 'kind' twice", "line 8: a version must be 1 or more",
            "line 9: the field 'not_before' is no ISO 8601 date", "line 10: with 'sort_key' goes 'sort_type'",
            "line 11: it is no JSON object",
        ] {
            #expect(result.errors.contains("sluice: \(line)"), "\(line)\n\(result.errors)")
        }
        #expect(try await place.actions().map { $0["payload"] as? Int } == [1, 11])
    }

    @Test(
        "What is no trace stays behind; a line with one, or with a tag that nobody could ask for, is refused"
    )
    func traces() async throws {
        let place = try Workplace()
        try await place.enqueue("q", "q", "q")
        _ = try await place.sql(
            """
            UPDATE sluice_action_rows SET trace = '{"a":' WHERE id = 1;
            UPDATE sluice_action_rows SET trace = '{"a":1}' WHERE id = 2;
            """
        )
        let exported = try await place.sluice("export")
        #expect(try exported.objects().allSatisfy { $0["trace"] == nil })
        #expect(exported.lines.count == 3)
        let start = #"{"queue":"q","kind":"k","payload":1,"#
        for (end, reason) in [
            (#""trace":{"a":1}}"#, "a trace must be an object of texts"),
            (#""trace":"a"}"#, "a trace must be an object of texts"), (#""trace":{}}"#, "a trace must be"),
            (#""tag":"a\u0000"}"#, "a tag must have 1 to 255 bytes and no NUL"),
        ] {
            let result = try await place.sluice("import", "--from", "-", input: start + end)
            #expect(result.status == .exited(65))
            #expect(result.errors.contains("line 1: \(reason)"), "\(result)")
        }
        #expect(try await place.actions().count == 3)
    }

    @Test("A disk that is full ends an export with 74")
    func full() async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        let result = try await Tool.launch(
            "/bin/sh",
            ["-c", "'\(Tool.path)' export --file '\(place.path)' > /dev/full"]
        )
        #expect(result.status == .exited(74), "\(result)")
        #expect(result.errors.hasPrefix("sluice: standard output cannot be written"))
    }

    @Test(
        "An answer that is lost ends a look with 74, and with 11 what has been done all the same",
        arguments: ["queues", "actions --json", "show q", "doctor", "enqueue --queue r --kind k --payload 1"]
    )
    func lostAnswer(verb: String) async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        let result = try await Tool.launch(
            "/bin/sh",
            ["-c", "'\(Tool.path)' \(verb) --file '\(place.path)' > /dev/full"]
        )
        #expect(result.status == .exited(verb.hasPrefix("enqueue") ? 11 : 74), "\(result)")
        #expect(result.errors.contains("standard output cannot be written"))
        #expect(try await place.actions().count == (verb.hasPrefix("enqueue") ? 2 : 1))
    }
}
#endif
