#if CommandLineTool
import Foundation
import Subprocess
import TestSupport
import Testing

@Suite("sluice dead", .serialized, .watched) struct DeadTests {
    /// A file with the dead letters 1 to 4: of `a`, of `b/1`, and two of `b/2`; the first is a day old, the
    /// second was skipped.
    private func workplace() async throws -> Workplace {
        let place = try Workplace()
        try await place.enqueue("a", "b/1", "b/2", "b/2")
        _ = try await place.sluice("skip", "b/1")
        _ = try await place.sluice("run", "--exec", "exit 65", "--on-failure", "skip", "--until-empty")
        _ = try await place.sql(
            """
            UPDATE sluice_dead_rows SET died_at_us = died_at_us - 86400000000 WHERE id = 1;
            UPDATE sluice_dead_rows SET died_at_us = died_at_us + id WHERE id > 1;
            """
        )
        return place
    }

    private func dead(_ place: Workplace, _ verb: String, _ arguments: String...) async throws -> Tool.Result
    {
        try await Tool.run(["dead", verb, "--file", place.path] + arguments)
    }

    private func ids(_ place: Workplace, _ arguments: String...) async throws -> [Int] {
        let list = ["dead", "list", "--file", place.path, "--json"]
        return try await Tool.run(list + arguments).objects().compactMap { $0["id"] as? Int }.sorted()
    }

    @Test("list selects by queue and cause, and says when there are more")
    func list() async throws {
        let place = try await workplace()
        #expect(try await ids(place) == [1, 2, 3, 4])
        #expect(try await ids(place, "--queue", "b/*") == [2, 3, 4])
        #expect(try await ids(place, "--queue", "a") == [1])
        #expect(try await ids(place, "--cause", "skipped") == [2])
        #expect(try await ids(place, "--queue", "b/*", "--cause", "failed") == [3, 4])
        let some = try await dead(place, "list", "--limit", "3")
        #expect(some.lines.count == 4)
        #expect(some.errors == "sluice: there are more than 3 dead letters; --limit shows more\n")
    }

    @Test("purge removes by number, and says which are none")
    func purge() async throws {
        let place = try await workplace()
        let result = try await dead(place, "purge", "2", "9")
        #expect(result.status == .exited(1))
        #expect(result.output == "2 is purged\n9 is not a dead letter; `sluice dead list` lists them\n")
        #expect(try await ids(place) == [1, 3, 4])
        let json = try await dead(place, "purge", "1", "--json")
        #expect(json.output == #"{"id":1,"result":"purged"}"# + "\n")
        #expect(try await place.sql("SELECT count(*) FROM sluice_attempts WHERE action_id IN (1, 2)") == "0")
    }

    @Test("purge removes by age, by count, by queue and by cause, the oldest first")
    func purgeMany() async throws {
        let place = try await workplace()
        let none = try await dead(place, "purge", "--all", "--older-than", "2d")
        #expect(none.output == "0 dead letters are purged\n")
        #expect(
            try await dead(place, "purge", "--all", "--older-than", "12h", "--keep", "4").status == .exited(0)
        )
        #expect(try await ids(place) == [1, 2, 3, 4])
        let old = try await dead(place, "purge", "--all", "--older-than", "12h")
        #expect(old.output == "1 dead letter is purged\n")
        #expect(try await ids(place) == [2, 3, 4])
        #expect(try await dead(place, "purge", "--queue", "b/*", "--keep", "2").status == .exited(0))
        let newest = try await ids(place)
        #expect(newest.count == 2 && newest.contains(4))
        let cause = try await dead(place, "purge", "--all", "--cause", "failed", "--json")
        #expect(try cause.objects().first?["purged"] as? Int == newest.count { $0 != 2 })
        #expect(try await dead(place, "purge", "--all").status == .exited(0))
        #expect(try await ids(place) == [])
    }

    @Test("requeue puts those of queues back, and one behind all others under a new number")
    func requeue() async throws {
        let place = try await workplace()
        let many = try await dead(place, "requeue", "--queue", "b/*", "--cause", "failed")
        #expect(many.output == "2 dead letters are requeued\n")
        #expect(try await place.actions().map { $0["id"] as? Int } == [3, 4])
        try await place.enqueue("a")
        let end = try await dead(place, "requeue", "--at-end", "1")
        #expect(end.output == "1 is requeued as 6\n")
        let json = try await dead(place, "requeue", "2", "1", "--json")
        #expect(json.status == .exited(1))
        #expect(
            json.output == """
                {"id":2,"result":"requeued","new_id":2}
                {"id":1,"result":"missing","new_id":null}

                """
        )
        #expect(try await place.actions().map { $0["id"] as? Int } == [5, 6, 2, 3, 4])
    }

    @Test("requeue --queue says what stays a dead letter and why, and when there is none")
    func kept() async throws {
        let place = try Workplace()
        try await place.enqueue("q", "q")
        _ = try await place.sluice("run", "--exec", "exit 65", "--on-failure", "skip", "--until-empty")
        let other = ["enqueue", "--file", place.path, "--queue", "q", "--kind", "k", "--payload", "1"]
        #expect(try await Tool.run(other + ["--sort-key", "7"]).status == .exited(0))
        let kept = try await dead(place, "requeue", "--queue", "q", "--json")
        #expect(kept.status == .exited(1))
        #expect(kept.output == "{\"requeued\":0,\"kept\":2}\n")
        #expect(kept.errors.hasPrefix("sluice: 1 stays a dead letter: "), "\(kept)")
        #expect(kept.errors.contains("ordered by integer"), "\(kept)")
        #expect(kept.errors.contains("1 more stay too"), "\(kept)")
        let none = try await dead(place, "requeue", "--queue", "nobody")
        #expect(none.status == .exited(0))
        #expect(none.output == "0 dead letters are requeued\n")
        #expect(none.errors.contains("no dead letter matches"))
    }
}
#endif
