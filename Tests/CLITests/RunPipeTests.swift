#if CommandLineTool
import Foundation
import Subprocess
import TestSupport
import Testing

import SluiceJSON
@testable import Sluice
@testable import SluiceCLI

@Suite("sluice run --pipe", .needs("python3"), .watched) struct RunPipeTests {
    /// Runs a handler until the file is empty.
    private func run(
        _ place: Workplace,
        _ body: String,
        _ arguments: String...
    ) async throws -> Tool.Result {
        let script = try place.write("handler.py", HandlerScript.text(log: place.path(of: "log"), body))
        return try await Tool.run(
            ["run", "--file", place.path, "--pipe", "python3 '\(script)'", "--until-empty"]
                + ["--retry-delay", "0.01", "--retry-limit", "0.01"] + arguments
        )
    }

    private func log(_ place: Workplace) throws -> [String] {
        try place.text(of: "log").split(separator: "\n").map(String.init)
    }

    @Test("A request has id, queue, kind, attempt, key and payload; the process ends with its input")
    func request() async throws {
        let place = try Workplace()
        let payload = "{\"é\":\r\n[\"\\n\", \"\u{2028}\"]}"
        _ = try await place.sluice("enqueue", "--queue", "a \"b\"", "--kind", "k", "--payload", payload)
        let result = try await run(place, #"note(json.dumps(r)); say({"id": r["id"], "outcome": "success"})"#)
        #expect(result.status == .exited(0), "\(result)")
        #expect(result.errors == "")
        let lines = try log(place)
        try #require(lines.count == 2)
        let request = try #require(
            try JSONSerialization.jsonObject(with: Data(lines[0].utf8)) as? [String: Any]
        )
        #expect(request.keys.sorted() == ["attempt", "id", "idempotency_key", "kind", "payload", "queue"])
        #expect(request["id"] as? Int == 1)
        #expect(request["queue"] as? String == "a \"b\"")
        #expect(request["kind"] as? String == "k")
        #expect(request["attempt"] as? Int == 1)
        #expect((request["idempotency_key"] as? String)?.isEmpty == false)
        #expect(request["payload"] as? [String: [String]] == ["é": ["\n", "\u{2028}"]])
        #expect(lines[1] == "end of input")
        #expect(try await place.actions().isEmpty)
    }

    @Test("Many requests are in flight, and answers come in any order")
    func inFlight() async throws {
        let place = try Workplace()
        try await place.enqueue("a", "b", "c", "d")
        // Nothing is answered before all four are there.
        let body = """
            held = [r] + [next(requests()) for _ in range(3)]
            for r in sorted(held, key=lambda r: -r["id"]):
                say({"id": r["id"], "outcome": "success"})
            """
        let result = try await run(place, body, "--concurrency", "4")
        #expect(result.status == .exited(0), "\(result)")
        #expect(try await place.actions().isEmpty)
    }

    @Test("Retry with and without a delay, release and failure mean what they say")
    func outcomes() async throws {
        let place = try Workplace()
        try await place.enqueue("delayed", "by policy", "released", "failed")
        let body = """
            note(f"{r['queue']} {r['attempt']}")
            first = not os.path.exists(\"\(place.path(of: "seen"))\" + r["queue"])
            open(\"\(place.path(of: "seen"))\" + r["queue"], "w").close()
            answer = {"outcome": "success"}
            if r["queue"] == "failed": answer = {"outcome": "fail", "reason": "no such room"}
            elif first and r["queue"] == "delayed": answer = {"outcome": "retry", "after": 0.05}
            elif first and r["queue"] == "by policy": answer = {"outcome": "retry", "reason": "busy"}
            elif first and r["queue"] == "released": answer = {"outcome": "release"}
            say({"id": r["id"]} | answer)
            """
        let result = try await run(place, body)
        #expect(result.status == .exited(1), "\(result)")
        let lines = try log(place).dropLast().sorted()
        #expect(
            lines == [
                "by policy 1", "by policy 2", "delayed 1", "delayed 2", "failed 1", "released 1",
                "released 1",
            ]
        )
        let queues = try await place.queues()
        #expect(queues.map { $0["queue"] as? String } == ["failed"])
        #expect(queues.first?["last_error"] as? String == "no such room")
    }

    @Test("G6: a second answer that names its attempt does not end the next attempt")
    func secondAnswer() async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        let body = """
            if r["attempt"] == 1:
                say({"id": r["id"], "outcome": "retry", "after": 0})
            else:
                say({"id": r["id"], "attempt": 1, "outcome": "success"})
                say({"id": r["id"], "attempt": 2, "outcome": "fail", "reason": "the second attempt's own"})
            """
        let result = try await run(place, body)
        #expect(result.status == .exited(1), "\(result)")
        #expect(result.errors.contains("nothing is in work under its id"))
        let queues = try await place.queues()
        #expect(queues.first?["last_error"] as? String == "the second attempt's own")
    }

    @Test("Lines that are no answer are reported with their number and text, and harm nothing")
    func badAnswers() async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        let body = #"""
            if r["attempt"] == 1:
                os.write(1, b'hello \x1b[31m\n\n[1]\n{"outcome": "success"}\n{"id": [], "outcome": ""}\n')
                say({"id": 7, "outcome": ""})
                say({"id": r["id"], "outcome": "maybe"})
            else:
                say({"id": r["id"], "outcome": "success"})
            """#
        let result = try await run(place, body)
        #expect(result.status == .exited(0), "\(result)")
        let complaint = "of the handler is no answer:"
        #expect(
            result.errors.split(separator: "\n").map(String.init) == [
                "sluice: line 1 \(complaint) it is not valid JSON: hello \\u{1b}[31m",
                "sluice: line 3 \(complaint) it is no JSON object: [1]",
                "sluice: line 4 \(complaint) 'id' is missing: {\"outcome\": \"success\"}",
                "sluice: line 5 \(complaint) 'id' has the wrong type: {\"id\": [], \"outcome\": \"\"}",
                "sluice: line 6 \(complaint) nothing is in work under its id: {\"id\": 7, \"outcome\": \"\"}",
                "sluice: line 7 \(complaint) the outcome is unknown, the action is retried: "
                    + "{\"id\": 1, \"outcome\": \"maybe\"}",
            ]
        )
    }

    @Test(
        "An answer that cannot be read ends its attempt as a retry with that reason",
        arguments: [
            #"{"id":1,"outcome":"retry","reason":"\x"}"#, #"{"id":1,"outcome":"retry","after":NaN}"#,
            #"{ "id" : 1 , "outcome": 7}"#, #"{"id":1}"#, #"{"id":"1","outcome":"success"}"#,
            #"{"attempt":1,"id":1,"outcome":"fail","reason":"\x"}"#,
            #"{"outcome":"fail","more":{"id":7,"x":["id"]},"a\"b":"id","id": 1,"reason":"\x"}"#,
        ]
    )
    func unreadable(answer: String) async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        let bytes = answer.replacing("\\", with: "\\\\")
        let result = try await run(place, "os.write(1, b'\(bytes)\\n')", "--max-attempts", "1")
        #expect(result.status == .exited(1), "\(result)")
        let queue = try #require(try await place.queues().first)
        let error = try #require(queue["last_error"] as? String)
        #expect(error.hasPrefix("the handler's answer cannot be read: "), "\(error)")
    }

    @Test("An answer that is too long ends its attempt too")
    func tooLong() async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        let body = "say({'attempt': 1, 'id': 1, 'outcome': 'fail', 'reason': 'x' * 1100000})"
        let result = try await run(place, body, "--max-attempts", "1")
        #expect(result.status == .exited(1), "\(result)")
        let queue = try #require(try await place.queues().first)
        let error = try #require(queue["last_error"] as? String)
        #expect(error.contains("it has more than 1048576 bytes"), "\(error)")
    }

    @Test("Half a line is neither a request nor an answer")
    func halves() throws {
        let attempt = Attempt(
            id: ActionID(rawValue: 17),
            queue: "q",
            kind: "k",
            version: 1,
            number: 1,
            nonce: 1,
            enqueuedAt: .now,
            lastError: nil
        )
        let request = PipeProtocol.request(#"{"a": [1, {"b": "}"}]}"#, attempt)
        #expect(JSONGrammar.accepts(request))
        for count in 0..<request.utf8.count {
            #expect(!JSONGrammar.accepts(String(decoding: request.utf8.prefix(count), as: UTF8.self)))
        }
        let answer = Array(#"{"id":17,"attempt":12,"outcome":"retry","after":10.5}"#.utf8)
        #expect(try PipeProtocol.answer(answer).after == 10.5)
        // Half a pair of surrogates, as Python writes a byte that is not UTF-8, and a whole one.
        for (written, read) in [
            (#"caf\udce9.txt"#, "caf\u{FFFD}.txt"), (#"\ud83d"#, "\u{FFFD}"), (#"\ud83d\ude00"#, "\u{1F600}"),
            (#"\\ud83d"#, #"\ud83d"#), (#"\ud83d\ud83d\ude00"#, "\u{FFFD}\u{1F600}"),
        ] {
            let line = #"{"id":7,"outcome":"fail","reason":"\#(written)"}"#
            #expect(try PipeProtocol.answer(Array(line.utf8)).reason == read)
        }
        for count in 0..<answer.count {
            #expect(throws: Refusal.self) { try PipeProtocol.answer(Array(answer.prefix(count))) }
        }
    }

    @Test("What a process has written of an answer when it dies counts for nothing")
    func cutAnswer() async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        let body = """
            note(str(r["attempt"]))
            if r["attempt"] == 1:
                os.write(1, b'{"id":1,"outcome":"fail","reason":"cut')
                sys.exit(3)
            say({"id": r["id"], "outcome": "success"})
            """
        let result = try await run(place, body)
        #expect(result.status == .exited(0), "\(result)")
        #expect(result.errors.contains("the handler process ended with status 3; it had 1 action in work"))
        #expect(try log(place) == ["1", "2", "end of input"])
    }

    @Test("A process that dies is started again, and what it had in work is retried by the policy")
    func death() async throws {
        let place = try Workplace()
        try await place.enqueue("a", "b")
        let body = """
            note(f"{r['queue']} {r['attempt']}")
            if r["attempt"] == 1:
                r = next(requests())
                note(f"{r['queue']} {r['attempt']}")
                sys.exit(3)
            say({"id": r["id"], "outcome": "success"})
            """
        let result = try await run(place, body, "--concurrency", "2")
        #expect(result.status == .exited(0), "\(result)")
        let remark =
            "sluice: the handler process ended with status 3; it had 2 actions in work, which are retried"
        #expect(result.errors == remark + "\n")
        #expect(try log(place).sorted() == ["a 1", "a 2", "b 1", "b 2", "end of input"])
    }

    @Test("A command that cannot be started uses up the attempts, and the queue says why")
    func noHandler() async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        let result = try await place.sluice(
            "run",
            "--pipe",
            "exit 9",
            "--until-empty",
            "--max-attempts",
            "2",
            "--retry-delay",
            "0.01"
        )
        #expect(result.status == .exited(1), "\(result)")
        let queue = try #require(try await place.queues().first)
        #expect(queue["state"] as? String == "parked")
        #expect(queue["last_error"] as? String == "the handler process ended with status 9")
    }

    /// Python that sets `answers` to whether this is a request, and not the first one ever.
    private func sparesTheFirst(_ place: Workplace) -> String {
        """
        seen = "\(place.path(of: "seen"))"
        answers = "cancel" not in r and os.path.exists(seen)
        open(seen, "w").close()
        """
    }

    @Test("G3: an attempt that outlives --timeout is told so, and its queue goes on when it has answered")
    func cancellation() async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        let body = """
            \(sparesTheFirst(place))
            answered = seen + ".answered"
            if "cancel" in r:
                note(f"cancel {r['cancel']}")
                # It may cross the answer, on a busy machine.
                if not os.path.exists(answered): say({"id": r["cancel"], "outcome": "retry"})
            elif answers:
                open(answered, "w").close()
                say({"id": r["id"], "outcome": "success"})
            """
        let result = try await run(place, body, "--timeout", "0.5", "--kill-after", "60")
        #expect(result.status == .exited(0), "\(result)")
        #expect(result.errors == "")
        #expect(try log(place).first == "cancel 1")
        #expect(try log(place).last == "end of input")
    }

    @Test("G3: a process that does not heed a cancellation is ended, and only then its queue goes on")
    func stubborn() async throws {
        let place = try Workplace()
        try await place.enqueue("q", "q")
        // It answers for the second action alone; the cancellation of the first comes by its removal.
        let body = """
            if "cancel" in r:
                # Until the signal, not the end of its input, ends it.
                import signal
                signal.pause()
            note(f"{os.getpid()} {r['id']}")
            if r["id"] == 1: sys.stderr.write("started\\n"); sys.stderr.flush()
            if r["id"] == 2: say({"id": 2, "outcome": "success"})
            """
        let script = try place.write("handler.py", HandlerScript.text(log: place.path(of: "log"), body))
        let arguments = ["run", "--file", place.path, "--pipe", "exec python3 '\(script)'", "--until-empty"]
        var remarks: [String] = []
        let status = try await Tool.follow(arguments + ["--kill-after", "2"]) { line, _ in
            remarks.append(line)
            if line == "started" { _ = try await place.sluice("remove", "1") }
        }
        #expect(status == .exited(0))
        #expect(
            remarks == [
                "started", "sluice: the handler has not answered the cancellation of action 1; it is ended",
                "sluice: signal 15 ended the handler process; it had 1 action in work, which is retried",
            ]
        )
        // The first process may have seen the end of its input before the signal ended it.
        let requests = try log(place).filter { $0 != "end of input" }.map { $0.split(separator: " ") }
        try #require(requests.map(\.last) == ["1", "2"])
        #expect(requests[0][0] != requests[1][0])
        #expect(try log(place).last == "end of input")
        #expect(try await place.actions().isEmpty)
    }

    @Test("SIGTERM lets what is in work finish, then the process's input ends")
    func graceful() async throws {
        let place = try Workplace()
        try await place.enqueue("q", "q")
        let go = try place.makePipe("go")
        let body = """
            sys.stderr.write("started\\n"); sys.stderr.flush()
            open("\(go)").readline()
            say({"id": r["id"], "outcome": "success"})
            """
        let script = try place.write("handler.py", HandlerScript.text(log: place.path(of: "log"), body))
        let arguments = ["run", "--file", place.path, "--pipe", "exec python3 '\(script)'"]
        let status = try await Tool.follow(arguments) { line, send in
            if line == "started" { try send(.terminate) }
            if line.hasPrefix("sluice: stopping") { try place.release(go) }
        }
        #expect(status == .exited(0))
        #expect(try log(place) == ["end of input"])
        #expect(try await place.actions().map { $0["id"] as? Int } == [2])
    }
}
#endif
