#if CommandLineTool && PostgreSQL
import Foundation
import Subprocess
import TestSupport
import Testing

/// Queues that leave a file for a server, and come back.
@Suite(
    "sluice export and import on PostgreSQL",
    .watched(minutes: 3),
    .enabled(if: TestServer.isToRun, "`make test-all` runs it, where there is a server")
)
struct PostgresTransferTests {
    private static let types = ["arrival", "integer", "date", "real", "text", "composite:integer,text"]

    /// A sort key of a type; the numbers come in no order, and some twice.
    private static func key(_ type: String, _ number: Int) -> String? {
        let mixed = (number * 7_919) % 40 - 20
        switch type {
        case "integer": return "\(mixed * 123_456_789_012_345)"
        case "date": return "\"\(1_900 + mixed)-05-11T15:46:08.00000\(number % 10)Z\""
        case "real": return ["\"-inf\"", "\"inf\"", "0.1", "5e-324", "-\(number).25"][number % 5]
        case "text": return "\"é\(mixed)\\n\\u0001\""
        case "arrival": return nil
        // Integers within have 19 digits.
        default: return "\"00000000000000\(20_000 + mixed)\\tß\""
        }
    }

    /// The lines of a file with 1,000 actions in 20 queues, whose keys have all types.
    private func file() async throws -> Workplace {
        let place = try Workplace()
        let lines = (0..<1_000).map { number in
            let queue = number % 20
            let type = Self.types[queue % Self.types.count]
            var line = #"{"queue":"q\#(queue)","kind":"k\#(number % 3)""#
            if let key = Self.key(type, number) {
                line += #","sort_type":"\#(type)","sort_key":\#(key)"#
            }
            if number % 7 == 0 { line += #","version":3,"tag":"t\#(number % 14)","gate":"g""# }
            if number % 11 == 0 { line += #","not_before":"2999-01-01T00:00:00.00000\#(number % 9)Z""# }
            if number % 13 == 0 { line += #","expires_at":"3000-01-01T00:00:00Z""# }
            if number % 17 == 0 { line += #","trace":{"traceparent":"00-\#(number)"}"# }
            return line + #","payload":{"number":\#(number),"text":"\u0000 é \"","big":1.00}}"# + "\n"
        }
        let result = try await place.sluice("import", "--from", place.write("lines", lines.joined()))
        try #require(result.status == .exited(0), "\(result)")
        return place
    }

    /// All that an action has except its number.
    private static func facts(_ lines: [String]) throws -> [String: [String]] {
        var facts: [String: [String]] = [:]
        for line in lines {
            let end = try #require(line.firstIndex(of: ","))
            let queue = try #require(
                try (JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])?["queue"]
                    as? String
            )
            facts[queue, default: []].append(String(line[end...]))
        }
        return facts
    }

    /// The numbers of the payloads in the order in which each queue runs them.
    private static func order(_ actions: [[String: Any]]) -> [String] {
        actions.map { "\($0["queue"] ?? "") \(($0["payload"] as? [String: Any])?["number"] ?? "")" }
    }

    @Test("1,000 actions in 20 queues with keys of all types go to a server and back, in their order")
    func roundTrip() async throws {
        let (first, server, last) = (try await file(), try ServerPlace(), try Workplace())
        let exported = try await first.sluice("export")
        #expect(exported.lines.count == 1_000)
        let there = try await server.output("import", "--from", first.write("lines", exported.output))
        #expect(there == "1000 enqueued, 0 refused")
        let onServer = try await server.sluice("export")
        #expect(onServer.status == .exited(0))
        let back = try await last.sluice("import", "--from", last.write("lines", onServer.output))
        #expect(back.output == "1000 enqueued, 0 refused\n", "\(back)")
        let inLast = try await last.sluice("export")
        #expect(try Self.facts(onServer.lines) == Self.facts(exported.lines))
        #expect(inLast.output == exported.output)
        let order = Self.order(try await first.actions())
        #expect(order.count == 1_000)
        let orderThere = Self.order(try await server.sluice("actions", "--json").objects())
        #expect(orderThere == order)
        #expect(Self.order(try await last.actions()) == order)
    }

    @Test("Actions that were moved to the front are in front after a move, in both directions")
    func fronts() async throws {
        let (first, server, last) = (try Workplace(), try ServerPlace(), try Workplace())
        let lines = (1...5).map { #"{"queue":"q","kind":"k","payload":{"number":\#($0)}}"# + "\n" }.joined()
        _ = try await first.sluice("import", "--from", first.write("lines", lines))
        for id in ["4", "3"] { _ = try await first.sluice("move", id, "--front") }
        let exported = try await first.sluice("export")
        _ = try await server.sluice("import", "--from", first.write("lines", exported.output))
        let there = Self.order(try await server.sluice("actions", "--json").objects())
        #expect(there == ["q 3", "q 4", "q 1", "q 2", "q 5"])
        _ = try await server.sluice("move", "5", "--front")
        let onServer = try await server.sluice("export")
        _ = try await last.sluice("import", "--from", last.write("lines", onServer.output))
        #expect(Self.order(try await last.actions()) == ["q 5", "q 3", "q 4", "q 1", "q 2"])
    }

    @Test("Keys go to a file from a server that writes bytes in the old form")
    func escapedBytes() async throws {
        let (server, file) = (try ServerPlace(), try Workplace())
        let lines = [30, 10, 20].map { number in
            #"{"queue":"q","kind":"k","sort_type":"integer","sort_key":\#(number),"#
                + #""payload":{"number":\#(number)}}"# + "\n"
        }
        let url = server.server.url + "&options=-c%20bytea_output%3Descape"
        let options = ["--postgres", url, "--schema", server.schema]
        _ = try await Tool.run(["import", "--from", file.write("lines", lines.joined())] + options)
        let exported = try await Tool.run(["export"] + options)
        _ = try await file.sluice("import", "--from", file.write("lines", exported.output))
        #expect(Self.order(try await file.actions()) == ["q 10", "q 20", "q 30"])
    }

    @Test("Some queues are exported by a pattern, and a batch is stored in its order")
    func pattern() async throws {
        let place = try ServerPlace()
        try await place.enqueue("mail/a", "chat", "mail/b", "mail/a")
        let lines = try await place.sluice("export", "--queue", "mail/*").objects()
        #expect(lines.compactMap { $0["payload"] as? Int } == [1, 3, 4])
        #expect(try await place.sluice("export", "--queue", "none").output.isEmpty)
    }

    @Test("What the server cannot hold is refused with its line and reason, and not lost")
    func refusals() async throws {
        let place = try ServerPlace()
        func line(_ more: String) -> String { #"{"queue":"q","kind":"k","payload":1\#(more)}"# + "\n" }
        let lines =
            line("") + line(#","starts_groups":["g"]"#) + line(#","member_of":["g"]"#)
            + line(#","version":3000000000"#) + line(#","not_before":9000000000000000000"#)
            + line(#","sort_type":"integer","sort_key":1"#) + line(#","tag":"\u0000""#) + line(#","tag":"t""#)
        let result = try await place.sluice("import", "--from", "-", "--skip-bad", input: lines)
        #expect(result.status == .exited(65), "\(result)")
        let reasons = result.errors.split(separator: "\n").map(String.init)
        for (number, reason) in [
            (2, "groups of actions need a file"), (3, "groups of actions need a file"),
            (4, "a version must be at most"), (5, "a time is not in the years 1 to 9999"),
            (6, "another type of sort key"), (7, "no NUL"),
        ] {
            let found = reasons.contains { $0.hasPrefix("sluice: line \(number): ") && $0.contains(reason) }
            #expect(found, "\(number): \(result)")
        }
        #expect(result.output == "2 enqueued, 6 refused\n")
        let first = try await place.sluice("import", "--from", "-", input: lines)
        #expect(first.status == .exited(65) && first.errors.contains("--first-line 2"), "\(first)")
        #expect(try await place.queues().compactMap { $0["depth"] as? Int } == [3])
    }
}
#endif
