#if CommandLineTool
import Foundation
import SluiceSQLite
import SluiceTestKit
import Subprocess
import Synchronization
import SystemPackage
import TestSupport
import Testing

@testable import Sluice
@testable import SluiceCLI

@Suite("sluice doctor", .serialized, .watched) struct DoctorTests {
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
        let answer = try await findings(place)
        let count = texts(answer, areProblems: false).count
        #expect(
            human.output.hasSuffix("\nhealthy, \(count) note\(count == 1 ? "" : "s") (-)\n"),
            "\(human)"
        )
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
            #expect(texts(answer, areProblems: true).isEmpty)
            let human = try await place.sluice("doctor").output
            #expect(human.contains("(1 running)"), "\(human)")
            pid = runner["pid"] as? Int
            try send(.kill)
        }
        let died = "process \(try #require(pid)), which ran the queues, has died"
        let answer = try await findings(place)
        #expect(texts(answer, areProblems: true) == [died])
        // The view cannot know of it, and counts what it ran.
        #expect((answer["states"] as? [String: Int])?["running"] == 1)
        let advice = (answer["findings"] as? [[String: Any]])?.first?["advice"] as? String
        #expect(advice?.hasSuffix("the line `queues` here show them as running") == true)
    }

    @Test("Beside queues that a process elsewhere runs stands which it is, and when its lease ends")
    func elsewhere() async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        let claims = try await place.sql(
            """
            INSERT INTO sluice_runner_rows (epoch, pid, process, nonce, lease_until_us)
            SELECT 99, 4711, 'another', 0, 2000000000000000;
            INSERT INTO sluice_claim_rows (queue_id, slot, action_id, claim, started_at_us, trial_size)
            SELECT queue_id, 0, id, (99 << 32) + 1, enqueued_at_us, 0 FROM sluice_action_rows;
            SELECT count(*) FROM sluice_claim_rows
            """
        )
        #expect(claims == "1")
        let shown = try await place.sluice("queues")
        #expect(
            shown.errors
                == "sluice: process 4711, in another container or on another machine, runs 1 action; if it "
                + "has gone, others run them when its lease ends, at 2033-05-18T03:33:20.000000Z\n"
        )
        #expect(try await place.sluice("queues", "--json").errors.isEmpty)
    }

    @Test("The processes that run the queues are named, with what each runs")
    func runners() {
        #expect(Doctor.text([]) == "none")
        #expect(
            Doctor.text([runner(7), runner(8), runner(9, lives: false)])
                == "process 7 (3 running), process 8 (3 running), process 9 (has died)"
        )
    }

    @Test("The last line counts problems and notes, with their marks")
    func verdict() {
        let problem = DoctorFinding(isProblem: true, text: "p", advice: "a")
        let note = DoctorFinding(isProblem: false, text: "n", advice: "a")
        #expect(Doctor.verdict([]) == "healthy")
        #expect(Doctor.verdict([note]) == "healthy, 1 note (-)")
        #expect(Doctor.verdict([problem, note, note]) == "1 problem (!), 2 notes (-)")
        #expect(Doctor.verdict([problem, problem]) == "2 problems (!)")
    }

    @Test("A process that commits again and again does not count as one that holds the write lock")
    func busyWriter() async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        let path = place.path
        let commits = EventLog<Void>()
        let isOver = Atomic(false)
        async let writing: Void = onOwnThread {
            let writer = try Self.open(path)
            defer { writer.close() }
            // A disk that takes its time is another matter.
            try writer.execute("PRAGMA synchronous = OFF")
            while !isOver.load(ordering: .relaxed) {
                try writer.beginImmediate()
                try writer.execute("UPDATE sluice_migrations SET applied_at_us = applied_at_us + 1")
                try writer.commit()
                commits.append(())
            }
        }
        defer { isOver.store(true, ordering: .relaxed) }
        _ = try await commits.wait(forCount: 10)
        for _ in 0..<20 {
            #expect(try !FileFacts(of: place.path, isFull: false).isWriteLockHeld)
        }
        isOver.store(true, ordering: .relaxed)
        try await writing
        let writer = try Self.open(path)
        defer { writer.close() }
        try writer.beginImmediate()
        #expect(try FileFacts(of: place.path, isFull: false).isWriteLockHeld)
        writer.rollback()
    }

    @Test("Of those that read beside a long log, the processes that run the queues are left out")
    func readers() async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        var facts = try FileFacts(of: place.path, isFull: false)
        facts.runners = [runner(7), runner(8)]
        func text(_ mebibytes: Int64, readBy readers: Int..., butRunners foreign: [Int]) -> String? {
            facts.walByteCount = mebibytes * 1_024 * 1_024
            var holders = LockHolders()
            holders.readers = readers.map { LockHolder(pid: $0, name: nil) }
            holders.foreignReaders = foreign.map { LockHolder(pid: $0, name: nil) }
            return DoctorFinding.all(facts, holders, path: place.path).first {
                $0.text.hasPrefix("the WAL")
            }?.text
        }
        #expect(text(170, readBy: 7, 8, butRunners: []) == nil)
        #expect(
            text(170, readBy: 7, 9, 10, butRunners: [9, 10])
                == "the WAL has grown to 170 MiB while process 9, process 10 read"
        )
        // Between several that run the queues it may become so long.
        #expect(text(120, readBy: 7, 9, butRunners: [9]) == nil)
        #expect(text(257, readBy: 7, butRunners: []) == "the WAL has grown to 257 MiB while process 7 reads")
        #expect(text(257, butRunners: []) == "the WAL has grown to 257 MiB")
        facts.runners = [runner(7)]
        #expect(
            text(120, readBy: 7, 9, butRunners: [9]) == "the WAL has grown to 120 MiB while process 9 reads"
        )
    }

    private static func open(_ path: String) throws -> Connection {
        let connection = try Connection(path: path, mode: .write)
        connection.setBusyTimeout(.seconds(30))
        return connection
    }

    private func runner(_ pid: Int64, lives: Bool = true) -> RunningProcess {
        RunningProcess(
            pid: pid,
            leaseUntil: Timestamp(Date()) + .seconds(30),
            isLeaseOver: false,
            lives: lives,
            runningCount: 3
        )
    }

    @Test("Who has the file for itself is named, though the file cannot be looked at")
    func owner() async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        let connection = try Connection(path: place.path, mode: .write)
        try connection.execute("PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE; CREATE TABLE own (a)")
        let result = try await place.sluice("doctor")
        connection.rollback()
        connection.close()
        #expect(result.status == .exited(75), "\(result)")
        let me = ProcessInfo.processInfo.processIdentifier
        #expect(result.errors.contains("process \(me) ("), "\(result)")
        #expect(result.errors.contains("locking_mode = EXCLUSIVE"), "\(result)")
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
            #expect(problem.hasPrefix("the WAL has grown to 6"), "\(problem)")
            #expect(problem.hasSuffix(" MiB while process \(pid) (sqlite3) reads"), "\(problem)")
            try place.release(pipe)
        }
        #expect(result.terminationStatus == .exited(0))
        let answer = try await findings(place)
        #expect(texts(answer, areProblems: true).isEmpty && answer["readers"] as? [Int] == [])
    }
    #endif
}
#endif
