#if CommandLineTool
import Foundation
import Subprocess
import TestSupport
import Testing

@Suite("What the tool is started with", .watched) struct SurroundingsTests {
    /// Runs a line of shell in which `$0` is the tool and `$1` the file.
    private func shell(_ line: String, _ place: Workplace) async throws -> Tool.Result {
        try await Tool.launch("sh", ["-c", line, Tool.path, place.path])
    }

    @Test("G14: where the answer is lost, the status says whether what was asked for is done")
    func lostAnswer() async throws {
        let place = try Workplace()
        for stream in [">/dev/full", ">&-"] {
            let enqueue = "\"$0\" enqueue --file \"$1\" --queue q --kind k --payload 1 \(stream)"
            let stored = try await shell(enqueue, place)
            #expect(stored.status == .exited(11), "\(stored)")
            #expect(stored.errors.contains("succeeded, but standard output cannot be written"), "\(stored)")
            for verb in [
                "queues", "actions", "export", "doctor", "show q", "dead list", "gate list", "holds --json",
            ] {
                let look = try await shell("\"$0\" \(verb) --file \"$1\" \(stream)", place)
                // An empty answer cannot be lost.
                let isEmpty = verb.hasPrefix("holds")
                #expect(look.status == .exited(isEmpty ? 0 : 74), "\(verb) \(look)")
            }
        }
        #expect(try await place.actions().count == 2)
        let removed = try await shell("\"$0\" remove --file \"$1\" 1 >/dev/full", place)
        #expect(removed.status == .exited(11))
        #expect(try await place.actions().count == 1)
    }

    /// What a look, and a run, should do without.
    private static let lacks = [
        "unset HOME TERM PATH LANG LC_ALL TMPDIR;", "export LANG=C LC_ALL=C TERM=dumb;",
        "export LC_ALL=xx_YY.nothing TERM=unknown TMPDIR=/nowhere;", "exec <&-;", "exec 2>&-;",
        "exec <&- 2>&-;", "mkdir \"$1.gone\"; cd \"$1.gone\"; rmdir \"$1.gone\";", "trap '' HUP PIPE TERM;",
        "ulimit -c 0; ulimit -s 1024;",
    ]

    @Test("It enqueues, looks and runs in poor surroundings", arguments: lacks)
    func poor(_ line: String) async throws {
        let place = try Workplace()
        let enqueue = "\"$0\" enqueue --file \"$1\" --queue q --kind k --payload '\"é\"'"
        let enqueued = try await shell("\(line) \(enqueue)", place)
        #expect(enqueued.status == .exited(0) && enqueued.output == "1\n", "\(enqueued)")
        for verb in ["queues", "actions", "show q", "doctor", "export"] {
            let result = try await shell("\(line) \"$0\" \(verb) --file \"$1\"", place)
            #expect(result.status == .exited(0) && !result.output.isEmpty, "\(verb) \(result)")
        }
        let run = try await shell("\(line) \"$0\" run --file \"$1\" --exec '/bin/cat' --until-empty", place)
        #expect(run.status == .exited(0) && run.output == "\"é\"\n", "\(run)")
    }

    @Test("Without /proc, from which arguments are read, nothing is pretended")
    func noProc() async throws {
        let place = try Workplace()
        let namespaces = try await Tool.launch("unshare", ["-m", "true"])
        guard namespaces.status == .exited(0) else { return }
        let line = """
            unshare -m sh -c '
            mount -t tmpfs none /proc; "$0" enqueue --file "$1" --queue q --kind k --payload 1
            ' "$0" "$1"
            """
        let result = try await shell(line, place)
        #expect(result.status == .exited(70) && result.output == "", "\(result)")
        #expect(result.errors.contains("/proc, which must be mounted"), "\(result)")
    }

    @Test("A pipe that somebody has set to refuse instead of waiting gets all the same", .needs("python3"))
    func nonBlocking() async throws {
        let place = try Workplace()
        for _ in 0..<2 {
            let line = #"{"queue":"q","kind":"k","payload":1}"# + "\n"
            let lines = String(repeating: line, count: 3_000)
            _ = try await place.sluice("import", "--from", "-", input: lines)
        }
        let script = """
            import fcntl, os, select, struct, subprocess, sys, termios
            def count(fd): return struct.unpack("i", fcntl.ioctl(fd, termios.FIONREAD, b"    "))[0]
            reading, writing = os.pipe()
            os.set_blocking(writing, False)
            process = subprocess.Popen(sys.argv[1:], stdout=writing)
            # Until it is full, as nobody reads.
            while select.select([], [writing], [], 0)[1]: pass
            os.close(writing)
            data = b""
            while piece := os.read(reading, 65536): data += piece
            print(process.wait(), len(data.splitlines()))
            reading, writing = os.pipe()
            os.set_blocking(reading, False)
            words = ["enqueue", "--file", sys.argv[4], "--queue", "late", "--kind", "k"]
            process = subprocess.Popen([sys.argv[1]] + words, stdin=reading, stdout=subprocess.DEVNULL)
            os.write(writing, b"[")
            while count(reading) > 0: pass
            os.write(writing, b"1]")
            os.close(writing)
            print(process.wait())
            """
        for verb in [["export"], ["actions", "--json", "--limit", "9000"]] {
            let result = try await Tool.launch(
                "python3",
                ["-c", script, Tool.path, verb[0], "--file", place.path] + verb.dropFirst()
            )
            #expect(result.errors == "", "\(result)")
            #expect(result.lines.first?.hasPrefix("0 600") == true && result.lines.last == "0", "\(result)")
        }
    }

    @Test("A relative path in a directory whose name is not UTF-8 is refused, and no other is opened")
    func directoryName() async throws {
        let place = try Workplace()
        let line = """
            cd "$(dirname "$1")"; odd=$(printf 'caf\\351'); mkdir "$odd" "$(printf 'caf\\357\\277\\275')"
            cd "$odd"; "$0" enqueue --file q.sqlite --queue q --kind k --payload 1; echo $?
            ls ../caf*
            "$0" enqueue --file "$1" --queue q --kind k --payload 1
            """
        let result = try await shell(line, place)
        #expect(result.errors.contains("the working directory, whose path is not UTF-8"), "\(result)")
        #expect(result.lines.first == "73" && result.lines.last == "1", "\(result)")
        #expect(!result.output.contains("q.sqlite"), "\(result)")
    }

    @Test(
        "A command has a group of its own, no terminal, three descriptors, default signals and the directory"
    )
    func command() async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        let script = """
            set -- $(cat /proc/$$/stat); test "$5" = $$ && echo group
            (: < /dev/tty) 2> /dev/null || echo no terminal
            ls /proc/self/fd | tr '\\n' ' '; echo
            ignored=$(sed -n 's/^SigIgn:.//p' /proc/self/status)
            blocked=$(sed -n 's/^SigBlk:.//p' /proc/self/status)
            # But for one of the C library's own.
            test $((0x$ignored & 0x7fffffff | 0x$blocked)) = 0 && echo default signals
            pwd
            """
        let quoted = script.replacing("'", with: "'\\''")
        let line =
            "trap '' HUP PIPE; cd /usr; exec \"$0\" run --file \"$1\" --exec '\(quoted)' --until-empty"
        let result = try await shell(line, place)
        #expect(result.status == .exited(0), "\(result)")
        // The fourth is that of ls itself.
        #expect(result.lines == ["group", "no terminal", "0 1 2 3 ", "default signals", "/usr"], "\(result)")
    }

    #if os(Linux)
    @Test("On a file system that is mounted to be read only, every look works, doctor among them")
    func readOnlyMount() async throws {
        let place = try Workplace()
        let mount = place.path(of: "mount")
        try FileManager.default.createDirectory(atPath: mount, withIntermediateDirectories: false)
        let mounted = try await Tool.launch("mount", ["-t", "tmpfs", "none", mount])
        guard mounted.status == .exited(0) else {
            try Test.cancel("only an administrator may mount a file system")
        }
        let file = "\(mount)/q.sqlite"
        let enqueue = ["enqueue", "--file", file, "--queue", "q", "--kind", "k", "--payload", "1"]
        let enqueued = try await Tool.run(enqueue)
        let remounted = try await Tool.launch("mount", ["-o", "remount,ro", mount])
        var results: [Tool.Result] = []
        for verb in [["queues"], ["actions"], ["show", "q"], ["export"], ["doctor"]] {
            results.append(try await Tool.run(verb + ["--file", file]))
        }
        _ = try await Tool.launch("umount", ["-l", mount])
        #expect(enqueued.status == .exited(0) && remounted.status == .exited(0))
        #expect(results.allSatisfy { $0.status == .exited(0) && !$0.output.isEmpty }, "\(results)")
        #expect(results.last?.output.contains("mounted read-only") == true)
    }
    #endif

    @Test("An argument that is no UTF-8 is refused: repaired, two names would be one")
    func arguments() async throws {
        let place = try Workplace()
        let line = #""$0" enqueue --file "$1" --kind k --payload 1 --queue "$(printf 'caf\351')""#
        let result = try await shell(line, place)
        #expect(result.status == .exited(64), "\(result)")
        #expect(result.errors.contains("is not UTF-8"), "\(result)")
        #expect(!FileManager.default.fileExists(atPath: place.path))
    }

    @Test(
        "An unknown verb is named, with the one that was meant",
        arguments: [
            ("list", "'queues' or 'actions'"), ("enque", "'enqueue'"), ("Watch", "'watch'"),
            ("doktor", "'doctor'"),
        ]
    )
    func verbs(word: String, meant: String) async throws {
        let result = try await Tool.run([word, "-f", "q.sqlite"])
        #expect(result.status == .exited(64))
        #expect(
            result.errors
                == "sluice: there is no verb '\(word)'; did you mean \(meant)? `sluice --help` lists all\n"
        )
        let strange = try await Tool.run(["frobnicate"])
        #expect(strange.errors == "sluice: there is no verb 'frobnicate'; `sluice --help` lists all\n")
    }
}
#endif
