#if CommandLineTool
import Foundation
import Subprocess
import TestSupport
import Testing

@Suite("sluice edit, reschedule and expire", .serialized, .watched) struct EditTests {
    private func action(_ place: Workplace) async throws -> [String: Any] {
        try #require(try await place.sluice("actions", "--json").objects().first)
    }

    @Test(
        "reschedule makes a waiting action wait, and a scheduled one due; the answer says which are not there"
    )
    func reschedule() async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        let later = try await place.sluice("reschedule", "1", "9", "--at", "2126-12-24T18:00")
        #expect(later.status == .exited(1))
        #expect(later.output.hasPrefix("1 is scheduled for 2126-12-24T18:00"))
        #expect(later.output.contains("too late: 9 does not exist"))
        try await #expect(action(place)["not_before"] as? String == "2126-12-24T18:00:00.000000Z")
        let now = try await place.sluice("reschedule", "1", "--now", "--json")
        #expect(now.output == #"{"id":1,"result":"done"}"# + "\n")
        try await #expect(action(place)["not_before"] is NSNull)
        #expect(try await place.sluice("reschedule", "1").status == .exited(64))
    }

    @Test("expire sets the end of an action, and clears it")
    func expire() async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        #expect(try await place.sluice("expire", "1", "--at", "2026-01-01").status == .exited(0))
        _ = try await place.sluice("run", "--exec", "cat > '\(place.path).ran'", "--until-empty")
        #expect(!FileManager.default.fileExists(atPath: place.path + ".ran"))
        let other = try Workplace()
        try await other.enqueue("q")
        #expect(try await other.sluice("expire", "1", "--at", "2026-01-01").status == .exited(0))
        let never = try await other.sluice("expire", "1", "--never")
        #expect(never.output == "1 does not expire\n")
        _ = try await other.sluice("run", "--exec", "cat > '\(other.path).ran'", "--until-empty")
        #expect(FileManager.default.fileExists(atPath: other.path + ".ran"))
    }

    @Test("show --id tells what an action waits for, and how it ended")
    func shown() async throws {
        let place = try Workplace()
        try await place.enqueue("q", "q")
        let waiting = try await place.sluice("show", "--id", "2")
        #expect(waiting.status == .exited(0))
        #expect(waiting.output.contains("waiting") && waiting.output.contains("broker stopped"), "\(waiting)")
        let json = try #require(try await place.sluice("show", "--id", "2", "--json").objects().first)
        #expect(json["state"] as? String == "waiting" && json["ahead"] as? Int == 1)
        #expect(json["payload"] as? Int == 2 && (json["history"] as? [Any])?.isEmpty == true)
        _ = try await place.sluice("run", "--exec", "exit 65", "--on-failure", "skip", "--until-empty")
        let dead = try #require(try await place.sluice("show", "--id", "1", "--json").objects().first)
        #expect(dead["state"] as? String == "dead")
        let never = try await place.sluice("show", "--id", "9", "--json")
        #expect(never.status == .exited(1))
        #expect(try never.objects().first?["state"] as? String == "unknown")
        #expect(try await place.sluice("show").status == .exited(64))
        #expect(try await place.sluice("show", "q", "--id", "1").status == .exited(64))
    }

    @Test("show --id has all that an action was enqueued with, and show of a number points to it")
    func shownWhole() async throws {
        let place = try Workplace()
        let words = ["enqueue", "--file", place.path, "--queue", "q", "--kind", "k", "--payload", "1"]
        let more = [
            "--tag", "t", "--gate", "wifi", "--key", "once", "--group", "g1", "--member", "g2",
            "--expires-at", "2040-01-01", "--payload-version", "3", "--sort-key", "7", "--sort-type",
            "integer",
        ]
        let result = try await Tool.run(words + more)
        try #require(result.status == .exited(0), "\(result)")
        let json = try #require(try await place.sluice("show", "--id", "1", "--json").objects().first)
        for (field, value) in [
            ("tag", "t"), ("gate", "wifi"), ("key", "once"), ("sort_type", "integer"),
            ("expires_at", "2040-01-01T00:00:00.000000Z"),
        ] {
            #expect(json[field] as? String == value, "\(field)")
        }
        #expect(json["version"] as? Int == 3 && json["sort_key"] as? Int == 7)
        #expect(json["starts_groups"] as? [String] == ["g1"] && json["member_of"] as? [String] == ["g2"])
        let text = try await place.sluice("show", "--id", "1").output
        for fact in [
            #/sort key +7\n/#, #/key +once\n/#, #/gate +wifi\n/#, #/starts groups +g1\n/#,
            #/member of +g2\n/#,
            #/expires at +2040-01-01/#, #/version +3\n/#,
        ] {
            #expect(text.contains(fact), "\(text)")
        }
        let number = try await place.sluice("show", "1")
        #expect(number.errors == "sluice: the queue '1' has no actions; for the action 1 use --id\n")
    }

    @Test("edit --payload replaces a payload; what is no JSON is refused, and nothing is changed")
    func payload() async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        let result = try await place.sluice("edit", "1", "--payload", #"{"text":"new"}"#)
        #expect(result.output == "1 has a new payload\n")
        let text = (try await action(place)["payload"] as? [String: Any])?["text"] as? String
        #expect(text == "new")
        let bad = try await place.sluice("edit", "1", "--payload", "{")
        #expect(bad.status == .exited(65))
        #expect((try await action(place)["payload"] as? [String: Any])?["text"] as? String == "new")
        #expect(try await place.sluice("edit", "9", "--payload", "1").status == .exited(1))
    }

    @Test("Without a terminal no editor is guessed")
    func withoutTerminal() async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        let words = ["-u", "VISUAL", "-u", "EDITOR", Tool.path, "edit", "--file", place.path, "1"]
        let result = try await Tool.launch("env", words)
        #expect(result.status == .exited(64), "\(result)")
        #expect(result.errors.contains("give --payload, or set EDITOR"), "\(result)")
        #expect(result.output == "", "\(result)")
    }

    @Test("edit opens the payload in the editor, and leaves it if nothing is saved or the editor fails")
    func editor() async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        _ = try await place.sluice("edit", "1", "--payload", #"{"text":"old"}"#)
        func edit(_ editor: String) async throws -> Tool.Result {
            let variables = ["VISUAL=\(editor)", "TMPDIR=\(place.directory)"]
            return try await Tool.launch("env", variables + [Tool.path, "edit", "--file", place.path, "1"])
        }
        let edited = try await edit("sed -i s/old/new/")
        #expect(edited.output == "1 has a new payload\n")
        #expect((try await action(place)["payload"] as? [String: Any])?["text"] as? String == "new")
        let same = try await edit("true")
        #expect(same.output == "1 is left as it is\n")
        // Somebody else is faster, while the editor is open.
        let theirs = "'\(Tool.path)' edit --file '\(place.path)' 1 --payload '{\"text\":\"theirs\"}'"
        let late = try await edit("sh '\(place.write("late", "sed -i s/new/mine/ \"$1\"; \(theirs)"))'")
        #expect(late.status == .exited(1))
        #expect(late.output.hasSuffix("left as it is: somebody else has changed its payload meanwhile\n"))
        #expect((try await action(place)["payload"] as? [String: Any])?["text"] as? String == "theirs")
        let kept = try FileManager.default.contentsOfDirectory(atPath: place.directory)
            .filter { $0.hasPrefix("sluice-edit-") }
        #expect(try kept.map { try place.text(of: $0).contains("mine") } == [true])
        _ = try await place.sluice("edit", "1", "--payload", #"{"text":"new"}"#)
        let failed = try await edit("false")
        #expect(failed.status == .exited(1))
        #expect((try await action(place)["payload"] as? [String: Any])?["text"] as? String == "new")
    }
}
#endif
