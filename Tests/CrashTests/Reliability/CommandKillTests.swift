#if CommandLineTool && os(Linux)
import Foundation
import SluiceTestKit
import Subprocess
import SystemPackage
import TestSupport
import Testing

/// Runs of the tool that are killed with commands under way, one after the other on one file.
///
/// `SLUICE_COMMAND_KILLS` sets how many; `SLUICE_SEED` chooses the moments.
@Suite("Kills of a run with commands", .needs("python3"), .watched(minutes: 120)) struct CommandKillTests {
    private static let kills = Reliability.number("SLUICE_COMMAND_KILLS", usually: 6, short: 2)
    private static let queueCount = 24

    private static func path(_ file: TemporaryFile, _ name: String) -> String {
        (file.path as NSString).deletingLastPathComponent + "/" + name
    }

    /// What both kinds of handler look for: something of the attempt before that is still there.
    ///
    /// A process is one and the same by its pid and its start.
    private static let shell = """
        dir=$1
        # Sets $state and $start of a process.
        look() {
            state= start=
            read -r line 2> /dev/null < "/proc/$1/stat" || return
            set -- ${line##*) }
            state=$1 start=${20}
        }
        note() { look "$1"; echo "$1 $start" >> "$dir/$SLUICE_QUEUE.new"; }
        if [ -e "$dir/$SLUICE_QUEUE" ]; then
            while read -r pid begun; do
                look "$pid"
                case "$start $state" in
                "$begun Z" | "$begun X") ;;
                "$begun "*) echo "overlap $SLUICE_QUEUE $pid" >> "$dir/violations" ;;
                esac
            done < "$dir/$SLUICE_QUEUE"
        fi
        case $(($SLUICE_ID % 3)) in 0) trap '' TERM HUP ;; esac
        : > "$dir/$SLUICE_QUEUE.new"
        # Something that the shell leaves behind when it is killed.
        sleep 60 < /dev/null > /dev/null 2>&1 & note $!; child=$!
        note $$
        mv "$dir/$SLUICE_QUEUE.new" "$dir/$SLUICE_QUEUE"
        echo started
        payload=$(cat)
        case $payload in
        '"begin'*'end"') ;;
        *) echo "part $SLUICE_ID ${#payload}" >> "$dir/violations" ;;
        esac
        sleep 0.0$((SLUICE_ID % 7))
        kill -KILL $child; wait $child
        printf '%-63s\\n' "$SLUICE_QUEUE $SLUICE_ID" >> "$dir/done"
        """

    private static let python = """
        import json, os, signal, sys, time
        log = sys.argv[1]
        def start(pid):
            try: fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
            except OSError: return None
            return None if fields[0] in "ZX" else fields[19]
        try: pid, begun = open(log + "/handler").read().split()
        except OSError: pid = None
        if pid and start(pid) == begun:
            open(log + "/violations", "a").write(f"overlap of handlers {pid}\\n")
        if os.getpid() % 2: signal.signal(signal.SIGTERM, signal.SIG_IGN)
        with open(log + "/handler.new", "w") as f: f.write(f"{os.getpid()} {start(os.getpid())}")
        os.rename(log + "/handler.new", log + "/handler")
        for line in sys.stdin:
            try: r = json.loads(line)
            except ValueError: continue
            if not line.endswith("\\n"): open(log + "/violations", "a").write("half a request\\n")
            if "id" not in r: continue
            sys.stderr.write("started\\n"); sys.stderr.flush()
            if not (r["payload"].startswith("begin") and r["payload"].endswith("end")):
                open(log + "/violations", "a").write(f"part {r['id']}\\n")
            time.sleep(r["id"] % 3 / 1000)
            open(log + "/done", "a").write(f"{r['queue']} {r['id']}".ljust(64, "\\n"))
            os.write(1, (json.dumps({"id": r["id"], "outcome": "success"}) + "\\n").encode())
        """

    @Test(
        """
        G3, G5: killed with commands under way, again and again, no command starts beside what is left of an \
        earlier one of its queue, each has all of its payload, and nothing is lost
        """,
        arguments: ["exec", "pipe"]
    )
    func again(handler: String) async throws {
        let file = try TemporaryFile()
        let script = Self.path(file, "handler")
        try Data((handler == "exec" ? Self.shell : Self.python).utf8).write(
            to: URL(fileURLWithPath: script + ".txt")
        )
        let directory = (file.path as NSString).deletingLastPathComponent
        let command = "exec \(handler == "exec" ? "sh" : "python3") '\(script).txt' '\(directory)'"
        let perQueue = max(Self.kills * 2, 20)
        try await enqueue(perQueue, file)
        let run = [
            "run", "--file", file.path, "--\(handler)", command, "--concurrency", "24", "--kill-after", "0.2",
        ]
        var random = Reliability.seed
        var (started, killed) = (0, 0)
        for _ in 0..<Self.kills {
            // A run that waits for the end of an earlier one's commands tells only the first.
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let last = Int(random >> 33) % 60 + 1
            var count = 0
            let status = try await follow(run + ["--until-empty"]) { line, send in
                guard line == "started" else { return }
                count += 1
                if count == last { try send(.kill) }
            }
            started += count
            if status == .signaled(SIGKILL) { killed += 1 }
        }
        let status = try await follow(run + ["--until-empty"]) { line, _ in
            if line == "started" { started += 1 }
        }
        #expect(status == .exited(0))
        let words = "\(handler), SLUICE_SEED=\(Reliability.seed)"
        let violations = (try? String(contentsOfFile: directory + "/violations", encoding: .utf8)) ?? ""
        #expect(violations == "", "\(words)")
        try expectAll(perQueue, in: directory, words)
        Reliability.report(
            "kills of a run with commands",
            "\(killed) kills with --\(handler), \(started) starts of \(perQueue * Self.queueCount) actions"
        )
    }

    private func enqueue(_ perQueue: Int, _ file: TemporaryFile) async throws {
        // More than a pipe holds.
        let filler = String(repeating: "x", count: 70_000)
        let lines = Self.path(file, "lines")
        #expect(FileManager.default.createFile(atPath: lines, contents: nil))
        let handle = try #require(FileHandle(forWritingAtPath: lines))
        for number in 0..<perQueue * Self.queueCount {
            let payload = number % 5 == 0 ? filler : "x"
            let line = """
                {"queue": "q\(number % Self.queueCount)", "kind": "k", "payload": "begin\(payload)end"}

                """
            try handle.write(contentsOf: Data(line.utf8))
        }
        try handle.close()
        let status = try await follow(["import", "--file", file.path, "--from", lines]) { _, _ in }
        try #require(status == .exited(0))
    }

    /// Each action has been done, and those of a queue in their order, but for what was done again.
    private func expectAll(_ perQueue: Int, in directory: String, _ words: String) throws {
        var done: [Substring: [Int]] = [:]
        for line in try String(contentsOfFile: directory + "/done", encoding: .utf8).split(separator: "\n") {
            let parts = line.split(separator: " ")
            try #require(parts.count == 2, "\(words) \(line)")
            let id = try #require(Int(parts[1]))
            // An attempt that was killed behind its note comes again.
            if done[parts[0]]?.last != id { done[parts[0], default: []].append(id) }
        }
        #expect(done.count == Self.queueCount, "\(words)")
        for ids in done.values {
            #expect(ids == ids.sorted() && Set(ids).count == perQueue && ids.count == perQueue, "\(words)")
        }
    }

    /// Runs the tool, and hands out each line of its output and remarks.
    private func follow(
        _ arguments: [String],
        _ body: (String, (Signal) throws -> Void) async throws -> Void
    ) async throws -> TerminationStatus {
        try await Subprocess.run(
            .path(FilePath(BuiltProducts.path(of: "sluice"))),
            arguments: Arguments(arguments),
            input: .none,
            output: .sequence,
            error: .combinedWithOutput
        ) { execution in
            for try await line in execution.standardOutput.strings() {
                try await body(line.trimmingCharacters(in: .newlines)) { try execution.send(signal: $0) }
            }
        }.terminationStatus
    }
}
#endif
