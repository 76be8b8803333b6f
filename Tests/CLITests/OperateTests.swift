#if CommandLineTool
import Foundation
import Subprocess
import TestSupport
import Testing

@Suite("The verbs that operate", .serialized, .watched) struct OperateTests {
    /// A file in which the queue `q` is parked by its first action, with a second behind it.
    private func parked() async throws -> Workplace {
        let place = try Workplace()
        try await place.enqueue("q", "q")
        _ = try await place.sluice("run", "--exec", "exit 65", "--until-empty")
        try #require(try await place.queues().first?["state"] as? String == "parked")
        return place
    }

    @Test("retry lifts the parking of the queues that it names, and of no other")
    func retry() async throws {
        let place = try await parked()
        let other = try await place.sluice("retry", "--queue", "other")
        #expect(other.status == .exited(0) && other.output == "0 queues are tried again\n", "\(other)")
        #expect(other.errors == "sluice: no queue that has actions matches 'other'\n")
        let number = try await place.sluice("retry", "1")
        #expect(number.status == .exited(1), "\(number)")
        #expect(number.errors.contains("'1': `sluice show 1` names the queue of an action"))
        #expect(try await place.queues().first?["state"] as? String == "parked")
        let result = try await place.sluice("retry", "--all", "--json")
        #expect(result.status == .exited(0))
        #expect(try result.objects().first?["queues"] as? Int == 1)
        #expect(try await place.queues().first?["state"] as? String == "stopped")
    }

    @Test(
        "A queue that is named and has no actions ends a verb with 1; that an option finds none does not",
        arguments: ["retry", "remove"]
    )
    func noSuchQueue(verb: String) async throws {
        let place = try Workplace()
        try await place.enqueue("mail/a")
        for (words, status) in [
            (["nosuch"], 1), (["nosuch/*"], 1), (["--queue", "nosuch"], 0), (["mail/a"], 0),
        ] as [([String], Int32)] {
            let result = try await Tool.run([verb, "--file", place.path] + words)
            #expect(result.status == .exited(status), "\(words) \(result)")
            #expect(result.errors.contains("no queue that has actions") == (words.last != "mail/a"))
        }
        let empty = try await Tool.run([verb, "--file", place.path, "--all"])
        #expect(empty.status == .exited(0), "\(empty)")
    }

    @Test("retry says what still keeps a queue: it ends no hold and opens no gate")
    func retryHeld() async throws {
        let place = try await parked()
        _ = try await place.sluice("hold", "--all", "--by", "ops", "--reason", "server moves")
        let retried = try await place.sluice("retry", "q")
        #expect(retried.output == "1 queue is tried again\n", "\(retried)")
        #expect(retried.errors == "sluice: q does not start: held by ops: server moves\n", "\(retried)")
        let again = try await place.sluice("retry", "q")
        #expect(again.output == "0 queues are tried again\n", "\(again)")
        #expect(
            again.errors == "sluice: no retry or parking to end: q, held by ops: server moves\n",
            "\(again)"
        )
        let all = try await place.sluice("retry", "--all")
        #expect(all.errors.contains("1 queue does not start, held or at a gate"), "\(all)")
        _ = try await place.sluice("resume", "--all")
        let free = try await place.sluice("retry", "q")
        #expect(free.errors == "sluice: no retry or parking to end: q, broker stopped\n", "\(free)")
    }

    @Test("remove takes away the actions that it names, and says which were not there")
    func remove() async throws {
        let place = try await parked()
        let result = try await place.sluice("remove", "1", "9")
        #expect(result.status == .exited(1))
        #expect(result.output == "1 is removed\ntoo late: 9 does not exist; `sluice actions` lists all\n")
        #expect(try await place.actions().map { $0["id"] as? Int } == [2])
        #expect(try await place.queues().first?["state"] as? String == "stopped")
        let again = try await place.sluice("remove", "--json", "2")
        #expect(again.status == .exited(0))
        #expect(try again.objects().first?["result"] as? String == "removed")
    }

    @Test("remove --queue takes away all of the queues that it names, and of no other")
    func removeAll() async throws {
        let place = try Workplace()
        try await place.enqueue("a/1", "a/2", "a/1", "b")
        let result = try await place.sluice("remove", "--queue", "a/*")
        #expect(result.output == "3 removed, 0 signalled\n")
        #expect(try await place.actions().map { $0["queue"] as? String } == ["b"])
    }

    @Test("remove --tag takes away what has the tag, in whatever queues")
    func removeTagged() async throws {
        let place = try Workplace()
        try await place.enqueue("a", "b", "c")
        _ = try await place.sql("UPDATE sluice_actions SET tag = 'album-7' WHERE id IN (1, 3)")
        let result = try await place.sluice("remove", "--tag", "album-7")
        #expect(result.status == .exited(0))
        #expect(result.output == "2 removed, 0 signalled\n")
        #expect(try await place.actions().map { $0["id"] as? Int } == [2])
        let again = try #require(
            try await place.sluice("remove", "--tag", "album-7", "--json").objects().first
        )
        #expect(again["removed"] as? Int == 0 && again["signalled"] as? Int == 0)
    }

    @Test(
        "remove --queue and --tag cancel what another process runs, and take away what waits",
        arguments: [
            ("--queue", "q", 2, "1 removed, 1 signalled\n"), ("--tag", "t", 1, "0 removed, 1 signalled\n"),
        ]
    )
    func removeRunningQueue(option: String, name: String, count: Int, output: String) async throws {
        let place = try Workplace()
        for _ in 0..<count { try await place.enqueue("q") }
        _ = try await place.sql("UPDATE sluice_actions SET tag = 't' WHERE id = 1")
        // Nobody lets it go on: it ends when it is told to.
        let pipe = try place.makePipe("never")
        let script = "echo started; read line < '\(pipe)'; exit 65"
        let arguments = ["run", "--file", place.path, "--exec", script, "--until-empty"]
        let status = try await Tool.follow(arguments) { line, _ in
            guard line == "started" else { return }
            let result = try await place.sluice("remove", option, name)
            #expect(result.output == output)
        }
        #expect(status == .exited(0))
        #expect(try await place.actions().isEmpty)
    }

    @Test("remove cancels what another process runs, and it is gone when its attempt has ended")
    func removeRunning() async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        // Nobody lets it go on: it ends when it is told to.
        let pipe = try place.makePipe("never")
        let script = "echo started; read line < '\(pipe)'; exit 65"
        let arguments = ["run", "--file", place.path, "--exec", script, "--until-empty"]
        let status = try await Tool.follow(arguments) { line, _ in
            guard line == "started" else { return }
            let result = try await place.sluice("remove", "1")
            #expect(result.output == "1 runs; it is removed when its attempt ends, unless it succeeds\n")
        }
        #expect(status == .exited(0))
        #expect(try await place.actions().isEmpty)
    }

    @Test("After a kill the lists and the acts see that nothing runs, as queues does")
    func killed() async throws {
        let place = try Workplace()
        try await place.enqueue("q", "q", "q")
        let script = "echo started; read line < '\(try place.makePipe("never"))'"
        let status = try await Tool.follow(["run", "--file", place.path, "--exec", script]) { line, send in
            if line == "started" { try send(.kill) }
        }
        #expect(status == .signaled(9))
        #expect(try await place.queues().first?["state"] as? String == "stopped")
        let first = try #require(try await place.actions().first)
        #expect(first["running_since"] is NSNull && first["attempts"] as? Int == 0, "\(first)")
        let edit = try await place.sluice("edit", "1", "--payload", "7", "--unless-running")
        #expect(edit.status == .exited(0) && edit.output == "1 has a new payload\n", "\(edit)")
        // It still is the suspect of the death, and the death is reported.
        #expect(try await place.sql("SELECT action_id FROM sluice_state_rows WHERE is_suspect = 1") == "1")
        #expect(try await place.sluice("doctor").output.contains("which ran the queues, has died"))
        let removed = try await place.sluice("remove", "1")
        #expect(removed.status == .exited(0) && removed.output == "1 is removed\n", "\(removed)")
        #expect(try await place.sluice("remove", "q").output == "2 removed, 0 signalled\n")
    }

    @Test("After a kill one remove deletes all of the queue, and a run runs what an act has left")
    func killedThenRun() async throws {
        let place = try Workplace()
        try await place.enqueue("q", "q", "r")
        let script = "echo started; read line < '\(try place.makePipe("never"))'"
        let run = ["run", "--file", place.path, "--queue", "q", "--exec", script]
        _ = try await Tool.follow(run) { line, send in if line == "started" { try send(.kill) } }
        #expect(try await place.sluice("move", "1", "--to", "r").output == "1 is moved to r\n")
        #expect(try await place.sluice("remove", "q").output == "1 removed, 0 signalled\n")
        let next = try await place.sluice("run", "--exec", "cat; echo", "--until-empty")
        #expect(next.status == .exited(0) && next.lines.sorted() == ["1", "3"], "\(next)")
    }

    @Test("hold pauses queues until resume; holds lists who and why")
    func hold() async throws {
        let place = try Workplace()
        try await place.enqueue("mail/1", "chat")
        let held = try await place.sluice(
            "hold",
            "--queue",
            "mail/*",
            "--by",
            "ops",
            "--reason",
            "server moves",
            "--for",
            "2h"
        )
        #expect(held.output == "1\n")
        let run = try await place.sluice("run", "--exec", "true", "--until-empty", "--for", "3s")
        #expect(run.status == .exited(10), "\(run)")
        #expect(try await place.actions().map { $0["queue"] as? String } == ["mail/1"])
        let hold = try #require(try await place.sluice("holds", "--json").objects().first)
        #expect(hold["queue"] as? String == "mail/*")
        #expect(hold["holder"] as? String == "ops")
        #expect(hold["reason"] as? String == "server moves")
        #expect(hold["until"] is String)
        let wrong = try await place.sluice("resume", "--queue", "mail/1")
        #expect(wrong.status == .exited(1))
        #expect(wrong.output == "no hold has ended\n")
        #expect(wrong.errors == "sluice: there is no hold of 'mail/1', but hold 1 of mail/* by ops\n")
        let resumed = try await place.sluice("resume", "--queue", "mail/*")
        #expect(resumed.status == .exited(0))
        #expect(resumed.output == "hold 1 of mail/* by ops has ended\n")
        #expect(try await place.sluice("run", "--exec", "true", "--until-empty").status == .exited(0))
    }

    @Test("pause holds a queue or a prefix, and resume ends it by the same words")
    func pause() async throws {
        let place = try Workplace()
        try await place.enqueue("mail/1", "chat")
        let paused = try await place.sluice("pause", "mail/*", "--for", "2h", "--reason", "moving")
        #expect(paused.output == "mail/* is paused by hold 1\n")
        let hold = try #require(try await place.sluice("holds", "--json").objects().first)
        #expect(hold["queue"] as? String == "mail/*" && hold["reason"] as? String == "moving")
        #expect(hold["until"] is String)
        let second = try await place.sluice("pause", "chat", "--by", "ops", "--json").objects()
        #expect(second.first?["id"] as? Int == 2 && second.first?["holder"] as? String == "ops")
        // A hold with an end is work for later, which is waited for.
        let run = try await place.sluice("run", "--exec", "true", "--until-empty", "--for", "3s")
        #expect(run.status == .exited(1) && run.errors.contains("1 held"), "\(run)")
        #expect(run.errors.contains("the first is due in 1 h 59 min"), "\(run)")
        let part = try await place.sluice("resume", "mail/1", "chat")
        #expect(part.status == .exited(1) && part.output == "hold 2 of chat by ops has ended\n", "\(part)")
        #expect(part.errors.contains("no hold of 'mail/1', but hold 1 of mail/*"), "\(part)")
        #expect(try await place.sluice("resume", "mail/*").status == .exited(0))
        #expect(try await place.sluice("run", "--exec", "true", "--until-empty").status == .exited(0))
        // A number is the name of a queue, and ends no hold of another one.
        _ = try await place.sluice("pause", "chat", "--by", "ops")
        let id = try #require(try await place.sluice("holds", "--json").objects().last?["id"] as? Int)
        let none = try await place.sluice("resume", "\(id)")
        #expect(none.status == .exited(1) && none.errors.contains("; --id \(id) is the hold"), "\(none)")
        _ = try await place.sluice("pause", "\(id)", "--by", "me")
        let again = try await place.sluice("pause", "\(id)")
        #expect(again.output.hasSuffix(", and was before by hold \(id + 1) by me\n"), "\(again)")
        #expect(try await place.sluice("resume", "\(id)").lines.count == 2)
        #expect(try await place.sluice("holds", "--json").objects().map { $0["id"] as? Int } == [id])
    }

    @Test("resume ends holds by their numbers, by their holder, or all")
    func resume() async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        for holder in ["a", "b", "c", "c"] {
            _ = try await place.sluice("hold", "--queue", "q", "--by", holder)
        }
        let some = try await place.sluice("resume", "--id", "1", "--id", "99")
        #expect(some.status == .exited(1) && some.output == "hold 1 of q by a has ended\n", "\(some)")
        #expect(some.errors.contains("there is no hold 99;"))
        #expect(
            try await place.sluice("resume", "--queue", "q", "--by", "c", "--json").objects().first?["holds"]
                as? Int == 2
        )
        #expect(try await place.sluice("resume", "--all").output == "hold 2 of q by b has ended\n")
        #expect(try await place.queues().first?["state"] as? String == "stopped")
    }

    @Test("gate opens, closes and lists")
    func gate() async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        let file = ["--file", place.path]
        #expect(try await Tool.run(["gate", "open", "network"] + file).output == "network is open\n")
        #expect(try await Tool.run(["gate", "close", "account"] + file).output == "account is closed\n")
        let gates = try await Tool.run(["gate", "list", "--json"] + file).objects()
        #expect(gates.map { $0["gate"] as? String } == ["account", "network"])
        #expect(gates.map { $0["state"] as? String } == ["closed", "open"])
        let closed = try await Tool.run(["gate", "close", "network", "--for", "3600"] + file).output
        #expect(closed == "network is closed\n")
        let ends = try await Tool.run(["gate", "list", "--json"] + file).objects().map { $0["opens_at"] }
        #expect(ends.map { $0 is String } == [false, true])
        #expect(try await Tool.run(["gate", "open", ""] + file).status == .exited(64))
    }

    @Test("dead lists and shows dead letters with their errors, and requeues them")
    func dead() async throws {
        let place = try Workplace()
        try await place.enqueue("q", "q")
        let file = ["--file", place.path]
        _ = try await place.sluice("run", "--exec", "exit 65", "--on-failure", "skip", "--until-empty")
        let letters = try await Tool.run(["dead", "list", "--json"] + file).objects()
        #expect(Set(letters.map { $0["id"] as? Int }) == [1, 2])
        #expect(letters.map { $0["cause"] as? String } == ["failed", "failed"])
        let shown = try #require(try await Tool.run(["dead", "show", "1", "--json"] + file).objects().first)
        #expect((shown["history"] as? [[String: Any]])?.map { $0["outcome"] as? String } == ["failed"])
        #expect(shown["payload"] as? Int == 1)
        let human = try await Tool.run(["dead", "show", "1"] + file)
        #expect(human.output.contains("exited with 65"))
        let requeued = try await Tool.run(["dead", "requeue", "1", "7"] + file)
        #expect(requeued.status == .exited(1))
        #expect(requeued.output == "1 is requeued\n7 is not a dead letter; `sluice dead list` lists them\n")
        #expect(try await place.actions().map { $0["id"] as? Int } == [1])
        #expect(try await Tool.run(["dead", "show", "1"] + file).status == .exited(1))
    }

    @Test("show tells of one queue its state, head with errors, holds and what comes next")
    func show() async throws {
        let place = try await parked()
        _ = try await place.sluice("hold", "--all", "--by", "ops", "--reason", "why not")
        let human = try await place.sluice("show", "q")
        for line in [
            "state        parked", "hold 1       * by ops: why not", "head         1, parked",
            "because      parked by action 1 after failure (failed): exited with 65",
            "and because  held by ops: why not", "and because  broker stopped",
            #"ATTEMPT  OUTCOME"#, " 2  q      k",
        ] {
            #expect(human.output.contains(line), "\(line)\n\(human)")
        }
        let shown = try #require(try await place.sluice("show", "q", "--json").objects().first)
        #expect(shown["state"] as? String == "parked")
        let first = "parked by action 1 after failure (failed): exited with 65"
        #expect(shown["because"] as? String == first)
        #expect(shown["reasons"] as? [String] == [first, "held by ops: why not", "broker stopped"])
        #expect((shown["holds"] as? [[String: Any]])?.map { $0["holder"] as? String } == ["ops"])
        #expect((shown["head_action"] as? [String: Any])?["id"] as? Int == 1)
        #expect((shown["history"] as? [[String: Any]])?.count == 1)
        #expect((shown["next"] as? [[String: Any]])?.map { $0["id"] as? Int } == [2])
        let none = try await place.sluice("show", "other")
        #expect(none.status == .exited(1))
        #expect(none.errors == "sluice: the queue 'other' has no actions\n")
        #expect(try await place.sluice("show", "q/*").status == .exited(64))
    }

    @Test("Verbs that act on queues ask for their names, and wrong arguments end with 64")
    func usage() async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        for arguments in [
            ["retry"], ["remove"], ["remove", "x", "1"], ["remove", "1", "--all"], ["hold"],
            ["hold", "--all", "--queue", "q"], ["hold", "--all", "--for", "soon"], ["resume"],
            ["resume", "1", "--all"], ["resume", "--by", "a", "--all"], ["dead", "show"],
            ["dead", "requeue"], ["remove", "--tag", "a", "--all"], ["remove", "--tag", ""], ["skip"],
            ["skip", "q/*"], ["move", "1"], ["move", "--front"], ["move", "1", "--to", "q", "--front"],
            ["move", "1", "--to", "*"], ["dead", "purge"], ["dead", "purge", "1", "--all"],
            ["dead", "purge", "1", "--keep", "2"], ["dead", "purge", "--all", "--keep", "-1"],
            ["dead", "purge", "--all", "--cause", "love"], ["dead", "list", "--cause", "love"],
            ["dead", "requeue", "--all", "--at-end"],
            ["pause"], ["pause", "a*"], ["pause", "q", "--for", "soon"], ["pause", ""],
            ["pause", "q", "--for", "0s"], ["hold", "--all", "--for", "0"], ["resume", "--id", "x"],
            ["gate", "close", "g", "--for", "0"], ["resume", "a*"],
            ["resume", "q", "--all"], ["resume", "q", "--queue", "q"], ["gate", "open"], ["show"], ["import"],
            ["queues", "--color", "blue"],
        ] {
            let result = try await Tool.run(arguments + ["--file", place.path])
            #expect(result.status == .exited(64), "\(arguments) \(result)")
            #expect(result.errors.hasPrefix("sluice: "), "\(arguments)")
        }
        #expect(try await place.actions().count == 1)
    }
}
#endif
