import Foundation
import Subprocess
import SystemPackage
import Testing

@testable import SluiceCLI

@Suite("sluice doctor", .serialized) struct DoctorTests {
    private func findings(_ place: Workplace, _ flags: String...) async throws -> [String: Any] {
        let result = try await Tool.run(["doctor", "--file", place.path, "--json"] + flags)
        let answer = try #require(try result.objects().first)
        #expect(result.status == .exited(answer["is_healthy"] as? Bool == true ? 0 : 1))
        return answer
    }

    private func texts(_ answer: [String: Any], areProblems: Bool) -> [String] {
        (answer["findings"] as? [[String: Any]] ?? []).filter { $0["is_problem"] as? Bool == areProblems }
            .compactMap { $0["finding"] as? String }
    }

    @Test("A file that is well is healthy, and its folder stays as it was")
    func healthy() async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        let before = try FileManager.default.contentsOfDirectory(atPath: place.directory)
        for flag in ["--json", "--full"] {
            let result = try await place.sluice("doctor", flag)
            #expect(result.status == .exited(0), "\(result)")
        }
        let human = try await place.sluice("doctor")
        #expect(human.output.hasSuffix("\nhealthy\n"), "\(human)")
        let answer = try await findings(place)
        #expect(answer["actions"] as? Int == 1)
        #expect((answer["pragmas"] as? [String: String])?["journal_mode"] == "wal")
        #expect(texts(answer, areProblems: false).contains("actions wait and no process runs the queues"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: place.directory) == before)
    }

    @Test("Queues that are parked, dead letters and holds are counted, with what to do")
    func queues() async throws {
        let place = try Workplace()
        try await place.enqueue("a")
        _ = try await place.sluice("run", "--exec", "exit 65", "--on-failure", "skip", "--until-empty")
        try await place.enqueue("a", "b")
        _ = try await place.sluice("hold", "--queue", "b")
        _ = try await place.sluice("run", "--exec", "exit 65", "--until-empty")
        let answer = try await findings(place)
        #expect(texts(answer, areProblems: true) == ["1 queue is parked"])
        let notes = texts(answer, areProblems: false)
        #expect(notes.contains("1 queue is held") && notes.contains("there is 1 dead letter"))
        #expect(answer["states"] as? [String: Int] == ["held": 1, "parked": 1])
        #expect(answer["dead"] as? Int == 1)
    }

    @Test("Whoever holds the write lock is named, with pid and program")
    func blocker() async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        let shell = ["sqlite3", "-interactive", place.path]
        let pipe = try place.makePipe("statements")
        let script = "exec \(shell.map { "'\($0)'" }.joined(separator: " ")) < '\(pipe)'"
        let feed = try FileHandle(forWritingTo: URL(fileURLWithPath: pipe))
        try feed.write(contentsOf: Data("BEGIN IMMEDIATE;\nSELECT 'locked';\n".utf8))
        let result = try await Subprocess.run(
            .path("/bin/sh"),
            arguments: ["-c", script],
            input: .none,
            output: .sequence,
            error: .discarded
        ) { execution in
            for try await line in execution.standardOutput.strings() {
                // The shell repeats what it reads; this is its answer.
                guard line.trimmingCharacters(in: .newlines) == "locked" else { continue }
                let answer = try await findings(place)
                let lock = try #require(answer["write_lock"] as? [String: Any])
                #expect(lock["held"] as? Bool == true)
                #if os(Linux)
                #expect(lock["pids"] as? [Int] == [Int(execution.processIdentifier.value)])
                #expect(
                    texts(answer, areProblems: true).first?.contains("(sqlite3) holds the write lock") == true
                )
                #endif
                try feed.write(contentsOf: Data(".quit\n".utf8))
            }
        }
        #expect(result.terminationStatus == .exited(0))
        #expect(texts(try await findings(place), areProblems: true).isEmpty)
    }

    @Test("The process that runs the queues is named, and so is one that has died")
    func runner() async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        let script = "echo started; read line < '\(try place.makePipe("never"))'"
        var pid: Int?
        _ = try await Tool.follow(["run", "--file", place.path, "--exec", script]) { line, send in
            guard line == "started" else { return }
            let answer = try await findings(place)
            let runner = try #require((answer["runners"] as? [[String: Any]])?.first)
            #expect(runner["is_dead"] as? Bool == false)
            #expect(runner["running"] as? Int == 1)
            #expect(runner["is_primary"] as? Bool == false)
            #expect(texts(answer, areProblems: true).isEmpty)
            _ = try await place.sql("UPDATE sluice_runner_rows SET primary_until_boot_us = 9000000000000000")
            let primary = (try await findings(place)["runners"] as? [[String: Any]])?.first
            #expect(primary?["is_primary"] as? Bool == true)
            let human = try await place.sluice("doctor").output
            #expect(human.contains("(primary, 1 running)"), "\(human)")
            pid = runner["pid"] as? Int
            try send(.kill)
        }
        let died = "process \(try #require(pid)), which ran the queues, has died"
        #expect(texts(try await findings(place), areProblems: true) == [died])
    }

    @Test("A second name of the file is told")
    func hardLink() async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        try FileManager.default.linkItem(atPath: place.path, toPath: place.path + ".second")
        let found = texts(try await findings(place), areProblems: true)
        #expect(found.count == 1 && found[0].hasPrefix("the file has 2 names, by hard links"), "\(found)")
    }

    @Test("A damaged file is told, as is one of a newer version and one without queues")
    func damage() async throws {
        let damaged = try Workplace()
        let lines = (1...2_000).map { "{\"n\":\($0)}" }.joined(separator: "\n")
        _ = try await damaged.sluice("enqueue", "--from", "-", "--kind", "k", "--queue", "q", input: lines)
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: damaged.path))
        // Somewhere inside, behind the schema: pages of the table of actions among them.
        for page in 40..<60 {
            try handle.seek(toOffset: UInt64(page * 4_096))
            try handle.write(contentsOf: Data(repeating: 0xAA, count: 64))
        }
        try handle.close()
        let answer = try await findings(damaged)
        #expect(texts(answer, areProblems: true).first?.hasPrefix("the file is damaged: ") == true)
        #expect((answer["integrity"] as? [String])?.isEmpty == false)

        let newer = try Workplace()
        try await newer.enqueue("q")
        _ = try await newer.sql(
            "INSERT INTO sluice_migrations (number, name, applied_at_us) VALUES (9999, '9999_later', 0)"
        )
        #expect(
            texts(try await findings(newer), areProblems: true) == [
                "a newer version of Sluice has written the file"
            ]
        )

        let foreign = try Workplace()
        _ = try await foreign.sql("CREATE TABLE own (a)")
        #expect(texts(try await findings(foreign), areProblems: true) == ["there are no queues in the file"])
        #expect(try await foreign.sql("SELECT group_concat(name) FROM sqlite_schema") == "own")

        let letter = try Workplace()
        _ = try letter.write("queues.sqlite", String(repeating: "This is a letter. ", count: 100))
        #expect(try await letter.sluice("doctor").status == .exited(73))
    }

    #if os(Linux)
    @Test("A reader that keeps a long log is named, with pid and program")
    func reader() async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        let pipe = try place.makePipe("end")
        let statements = [
            "-cmd", "BEGIN; SELECT 'reads' FROM sluice_queues;", "-cmd", ".shell read line < '\(pipe)'",
        ]
        // The last to close the file copies the log: somebody else has it open too.
        let result = try await Subprocess.run(
            .name("sqlite3"),
            arguments: Arguments(["-batch", "-init", "/dev/null"] + statements + [place.path, "ROLLBACK;"]),
            input: .none,
            output: .discarded,
            error: .discarded
        ) { execution in
            let pid = Int(execution.processIdentifier.value)
            while try await findings(place)["readers"] as? [Int] != [pid] { try Task.checkCancellation() }
            #expect(texts(try await findings(place), areProblems: true).isEmpty)
            let fill =
                "INSERT INTO sluice_actions (queue, kind, payload) SELECT 'r', 'k', "
                + "json_quote(printf('%.*c', 9000000, 'x')) "
                + "FROM (VALUES (1), (2), (3), (4), (5), (6), (7), (8))"
            _ = try await place.sql(fill)
            let problem = try #require(texts(try await findings(place), areProblems: true).first)
            #expect(problem.hasPrefix("the log has grown to 6"), "\(problem)")
            #expect(problem.hasSuffix(" MiB while process \(pid) (sqlite3) reads"), "\(problem)")
            try place.release(pipe)
        }
        #expect(result.terminationStatus == .exited(0))
        let answer = try await findings(place)
        #expect(texts(answer, areProblems: true).isEmpty && answer["readers"] as? [Int] == [])
    }
    #endif
}
