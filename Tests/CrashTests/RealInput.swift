#if CommandLineTool
import Foundation
import Testing

/// Real chat, which lies beside the clone on the project's machines.
enum RealInput {
    /// The path of the file.
    static let path: String = {
        var root = URL(fileURLWithPath: #filePath)
        for _ in 0..<3 { root.deleteLastPathComponent() }
        return root.deletingLastPathComponent().appendingPathComponent("shared/data/conversations.jsonl").path
    }()

    /// Whether this machine has it.
    static var isThere: Bool { FileManager.default.fileExists(atPath: path) }

    /// A line of the file, as far as the tests need it.
    struct Message: Decodable {
        let conversation: String
        let sentAt: String
    }

    static func messages() throws -> [Message] {
        let lines = try Data(contentsOf: URL(fileURLWithPath: path)).split(separator: UInt8(ascii: "\n"))
        return try lines.map { try JSONDecoder().decode(Message.self, from: $0) }
    }
}

/// A handler for `sluice run --pipe` that logs each delivery, and fails some.
enum LoggingHandler {
    /// The arguments are the log, the number of the run, the seed, the part of attempts that fail, and after
    /// how many it answers no more; a negative number is never.
    ///
    /// A handler of a killed process reads on what it had been sent. The lock keeps the next one waiting
    /// until it has ended, as an application's own log would need it too. Why its lines are filled up:
    /// ``WholeLine``.
    static let text = """
        import fcntl, json, os, random, sys
        path, run, seed, rate, left = *sys.argv[1:5], int(sys.argv[5])
        log = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        fcntl.flock(log, fcntl.LOCK_EX)
        def tell(descriptor, text):
            try: os.write(descriptor, text.encode())
            except BrokenPipeError: pass
        for line in sys.stdin:
            r = json.loads(line)
            if "cancel" in r or left == 0: continue
            left -= 1
            key, attempt = r["idempotency_key"], r["attempt"]
            fails = random.Random(f"{seed} {key} {attempt}").random() < float(rate)
            outcome = "retry" if fails else "success"
            fields = [run, r["queue"], r["id"], key, attempt, r["payload"]["sentAt"], outcome]
            os.write(log, "\\t".join(map(str, fields)).encode().ljust(256, b"\\n"))
            tell(2, "delivered\\n")
            tell(1, json.dumps({"id": r["id"], "outcome": outcome}) + "\\n")

        """

    /// A line of the log.
    struct Delivery {
        let run: Int
        let queue: String
        let id: Int
        let key: String
        let attempt: Int
        let sentAt: String
        let hasFailed: Bool
    }

    static func deliveries(in log: String) throws -> [Delivery] {
        try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n").map { line in
            let fields = line.split(separator: "\t").map(String.init)
            try #require(fields.count == 7, "a line of the log is not whole: \(line)")
            return Delivery(
                run: try #require(Int(fields[0])),
                queue: fields[1],
                id: try #require(Int(fields[2])),
                key: fields[3],
                attempt: try #require(Int(fields[4])),
                sentAt: fields[5],
                hasFailed: fields[6] == "retry"
            )
        }
    }
}
#endif
