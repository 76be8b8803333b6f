#if CommandLineTool
import Foundation
import SluiceSQLite
import Subprocess
import TestSupport
import Testing

@Suite("sluice drain, and sluice run --for", .watched) struct DrainTests {
    @Test("Background Operations: drain runs what can run, and ends with 0 when nothing is left")
    func drains() async throws {
        let place = try Workplace()
        try await place.enqueue("a", "a", "b")
        for arguments in [[], ["--deadline", "1m"], ["--deadline", "2099-01-01T00:00:00Z"]] {
            let result = try await Tool.run(
                ["drain", "--file", place.path, "--exec", "echo $SLUICE_ID"] + arguments
            )
            #expect(result.status == .exited(0), "\(result)")
            #expect(result.lines.sorted() == (arguments.isEmpty ? ["1", "2", "3"] : []))
        }
        #expect(try await place.actions().isEmpty)
    }

    @Test(
        "Background Operations: at its deadline what runs is released, for no attempt, and the status is 10",
        arguments: [
            ["drain", "--deadline", "9s"], ["run", "--for", "9s"], ["run", "--for", "9s", "--until-empty"],
        ]
    )
    func deadline(_ arguments: [String]) async throws {
        let place = try Workplace()
        try await place.enqueue("q", "q")
        let pipe = try place.makePipe("never")
        let script = "echo $$ > '\(place.path(of: "process"))'; read line < '\(pipe)'"
        let start = ContinuousClock.now
        let result = try await Tool.run(arguments + ["--file", place.path, "--exec", script])
        #expect(ContinuousClock.now - start < Self.latestEnd)
        #expect(result.status == .exited(10), "\(result)")
        #expect(result.errors == "sluice: work is left that could run\n")
        let process = try #require(pid_t(place.text(of: "process").trimmingCharacters(in: .newlines)))
        #expect(kill(process, 0) == -1 && errno == ESRCH)
        #expect(try await place.actions().map { $0["attempts"] as? Int } == [0, 0])
        #expect(try await place.actions().map { $0["last_error"] is NSNull } == [true, true])
    }

    /// The end of 9 seconds, and what a machine that does other things needs to start and end processes.
    private static let latestEnd: Duration = .seconds(15)

    @Test(
        "A command that ignores SIGTERM is killed in time, and so is a handler for many",
        arguments: ["--exec", "--pipe"]
    )
    func stubborn(_ kind: String) async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        let pipe = try place.makePipe("never")
        let script = "trap '' TERM; echo $$ > '\(place.path(of: "process"))'; read line < '\(pipe)'"
        let start = ContinuousClock.now
        let result = try await place.sluice("drain", kind, script, "--deadline", "9s", "--grace", "0")
        #expect(ContinuousClock.now - start < Self.latestEnd)
        #expect(result.status == .exited(10), "\(result)")
        let process = try #require(pid_t(place.text(of: "process").trimmingCharacters(in: .newlines)))
        #expect(kill(process, 0) == -1 && errno == ESRCH)
        #expect(try await place.actions().map { $0["attempts"] as? Int } == [0])
    }

    @Test("What is due after the deadline is not waited for: the status is 10, and standard error says when")
    func later() async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        let arguments = ["--exec", "exit 75", "--retry-delay", "3000", "--retry-limit", "3000"]
        let result = try await Tool.run(["drain", "--file", place.path, "--deadline", "10m"] + arguments)
        #expect(result.status == .exited(10), "\(result)")
        // Less up to half by chance.
        #expect(result.errors.contains(#/work is left; the first is due in \d\d min/#), "\(result)")
        #expect(try await place.actions().map { $0["attempts"] as? Int } == [1])
    }

    @Test("What is scheduled for behind the deadline is not waited for, nor what is due when nothing starts")
    func scheduled() async throws {
        // Nothing starts in the last 25 of 600 seconds.
        for delay in [3_600, 595] {
            let place = try Workplace()
            let time = Date(timeIntervalSinceNow: TimeInterval(delay)).ISO8601Format()
            let words = ["enqueue", "--file", place.path, "--queue", "q", "--kind", "k", "--payload", "1"]
            let enqueued = try await Tool.run(words + ["--not-before", time])
            try #require(enqueued.status == .exited(0), "\(enqueued)")
            let result = try await place.sluice("drain", "--exec", "true", "--deadline", "10m")
            #expect(result.status == .exited(10), "\(result)")
            #expect(result.errors.contains(#/work is left; the first is due in \d+ min/#), "\(result)")
        }
    }

    @Test("What somebody must see to comes before what is due later, and both are said")
    func both() async throws {
        let place = try Workplace()
        try await place.enqueue("parked", "gated", "held", "later")
        _ = try await place.sluice("drain", "--queue", "parked", "--exec", "exit 65")
        _ = try await place.sluice("hold", "--queue", "held")
        _ = try await place.sluice("remove", "2", "4")
        for arguments in [
            ["--queue", "gated", "--gate", "network"], ["--queue", "later", "--not-before", "2099-01-01"],
        ] {
            let words = ["enqueue", "--file", place.path, "--kind", "k", "--payload", "1"]
            let result = try await Tool.run(words + arguments)
            try #require(result.status == .exited(0), "\(result)")
        }
        let stuck = "3 queues still have actions: 1 parked, 1 held, 1 at a closed gate; see `sluice queues`"
        for arguments in [["drain", "--deadline", "1m"], ["run", "--for", "3s"]] {
            let result = try await Tool.run(arguments + ["--file", place.path, "--exec", "true"])
            #expect(result.status == .exited(1), "\(arguments) \(result)")
            let remarks = result.errors.split(separator: "\n")
            #expect(remarks.first == "sluice: \(stuck)", "\(result)")
            let last = try #require(remarks.last)
            #expect(last.hasPrefix("sluice: work is left; the first is due in "), "\(result)")
            #expect(remarks.count == 2, "\(result)")
        }
    }

    @Test("What another process runs is no failure: the status is 10, and standard error says so")
    func elsewhere() async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        let pipe = try place.makePipe("go")
        let script = "echo started; read line < '\(pipe)'"
        let other = ["run", "--file", place.path, "--exec", script, "--until-empty"]
        let status = try await Tool.follow(other) { line, _ in
            guard line == "started" else { return }
            let result = try await place.sluice("drain", "--exec", "true", "--deadline", "4s")
            #expect(result.status == .exited(10), "\(result)")
            let words = "sluice: 1 queue still has an action that runs in another process\n"
            #expect(result.errors == words)
            try place.release(pipe)
        }
        #expect(status == .exited(0))
    }

    @Test("A head at a closed gate that expires lets the others go then: the status is 10")
    func expiring() async throws {
        let place = try Workplace()
        let words = ["enqueue", "--file", place.path, "--queue", "q", "--kind", "k", "--payload", "1"]
        let gated = ["--gate", "network", "--expires-at", "2099-01-01"]
        for arguments in [gated, []] {
            let result = try await Tool.run(words + arguments)
            try #require(result.status == .exited(0), "\(result)")
        }
        let result = try await place.sluice("drain", "--exec", "true", "--deadline", "1m")
        #expect(result.status == .exited(10), "\(result)")
        #expect(result.errors.hasPrefix("sluice: work is left; the first is due in "), "\(result)")
    }

    @Test(
        "Behind another connection's lock the end comes some seconds late, not when the lock is given up",
        arguments: [["drain", "--deadline", "9s"], ["run", "--for", "9s"]]
    )
    func locked(_ arguments: [String]) async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        let pipe = try place.makePipe("never")
        let file = place.path
        var lock: Connection?
        let start = ContinuousClock.now
        let script = "echo started; read line < '\(pipe)'"
        let status = try await Tool.follow(arguments + ["--file", file, "--exec", script]) { line, _ in
            guard line == "started" else { return }
            let connection = try Connection(path: file, mode: .write)
            connection.setBusyTimeout(.seconds(10))
            try connection.execute("BEGIN IMMEDIATE")
            lock = connection
        }
        // The lock is held until here.
        #expect(ContinuousClock.now - start < .seconds(19))
        #expect([.exited(10), .exited(75)].contains(status), "\(status)")
        try #require(lock).execute("ROLLBACK")
        // That it was released could not be written: it is taken over, and that costs no attempt either.
        let next = try await place.sluice("drain", "--exec", "echo attempt $SLUICE_ATTEMPT")
        #expect(next.status == .exited(0), "\(next)")
        #expect(next.lines == ["attempt 1"])
    }

    @Test("A retry that is due before the deadline is waited for")
    func soon() async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        let script = "test $SLUICE_ATTEMPT = 2"
        let result = try await place.sluice(
            "drain",
            "--exec",
            script,
            "--retry-delay",
            "0.2",
            "--deadline",
            "1m"
        )
        #expect(result.status == .exited(0), "\(result)")
    }

    @Test("What somebody must see to is 1, as without a deadline")
    func parked() async throws {
        let place = try Workplace()
        try await place.enqueue("q", "other")
        for arguments in [
            ["drain", "--deadline", "1m"], ["run", "--for", "1m", "--until-empty"],
            ["drain", "--queue", "q", "--deadline", "1m"],
        ] {
            let result = try await Tool.run(arguments + ["--file", place.path, "--exec", "exit 65"])
            #expect(result.status == .exited(1), "\(arguments) \(result)")
            #expect(result.errors.contains("queue"), "\(result)")
        }
    }

    @Test("A signal ends a drain in time too, and the status says what is left", arguments: [1, 2])
    func signals(_ count: Int) async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        let pipe = try place.makePipe("never")
        let script = "echo started; read line < '\(pipe)'"
        let grace = count == 1 ? "0.1" : "3600"
        let arguments = ["drain", "--file", place.path, "--exec", script, "--grace", grace]
        var stops = 0
        let status = try await Tool.follow(arguments) { line, send in
            if line == "started" { try send(.terminate) }
            guard line.hasPrefix("sluice: stopping") else { return }
            stops += 1
            if count == 2 { try send(.terminate) }
        }
        #expect(status == .exited(10) && stops == 1)
        #expect(try await place.actions().map { $0["attempts"] as? Int } == [0])
    }

    @Test("A deadline that has passed runs nothing, or little; times that leave none are refused")
    func noTime() async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        let pipe = try place.makePipe("never")
        let passed = ["--deadline", "2020-01-01", "--exec", "read line < '\(pipe)'"]
        let result = try await Tool.run(["drain", "--file", place.path] + passed)
        #expect(result.status == .exited(10), "\(result)")
        #expect(result.errors.hasPrefix("sluice: the deadline has passed: nothing is run\n"))
        for arguments in [
            ["run", "--for", "5s", "--grace", "5"], ["drain", "--deadline", "5s", "--kill-after", "2"],
            ["drain", "--deadline", "tomorrow"], ["run", "--for", "-1s"], ["drain", "--pipe", "true"],
        ] {
            let result = try await Tool.run(arguments + ["--file", place.path, "--exec", "true"])
            #expect(result.status == .exited(64), "\(arguments) \(result)")
            #expect(result.errors.contains("Usage: sluice \(arguments[0]) "), "\(result)")
        }
        #expect(try await place.actions().map { $0["attempts"] as? Int } == [0])
    }
}
#endif
