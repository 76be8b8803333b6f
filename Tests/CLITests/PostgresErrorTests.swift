#if CommandLineTool && PostgreSQL
import Foundation
import Sluice
import Subprocess
import TestSupport
import Testing

@testable import SluiceCLI

/// What the tool says where there are no queues, and what it never says.
@Suite(
    "Errors of the tool on PostgreSQL",
    .watched,
    .enabled(if: TestServer.isToRun, "`make test-all` runs it, where there is a server")
)
struct PostgresErrorTests {
    @Test("A reader makes no schema: 73, and says which verbs make one")
    func missingSchema() async throws {
        let place = try ServerPlace()
        for verb in ["queues", "doctor", "export", "retry"] {
            let options = verb == "retry" ? ["--all"] : []
            let result = try await Tool.run([verb] + place.options + options)
            #expect(result.status == .exited(73), "\(verb) \(result)")
            #expect(result.errors.contains("'\(place.schema)': there are no queues in it"), "\(result)")
            #expect(result.errors.contains("only enqueue, run, drain and import make"), "\(result)")
        }
        #expect(try await place.sql("SELECT to_regnamespace('\(place.schema)') IS NULL") == "t")
    }

    @Test("A newer schema ends with 73, also for an enqueue")
    func newerSchema() async throws {
        let place = try ServerPlace()
        try await place.enqueue("q")
        try await place.sql("INSERT INTO @sluice_migrations VALUES (99, now())")
        for result in [
            try await place.sluice("queues"),
            try await place.sluice("enqueue", "--queue", "q", "--kind", "k", "--payload", "1"),
        ] {
            #expect(result.status == .exited(73) && result.errors.contains("update this one"), "\(result)")
        }
        try await place.sql("DELETE FROM @sluice_migrations WHERE version >= 5")
        let older = try await place.sluice("queues")
        #expect(older.status == .exited(73) && older.errors.contains("it has 4 of"), "\(older)")
    }

    @Test("Without a server the verb ends with 73 at once")
    func noServer() async throws {
        let place = try ServerPlace()
        let url = "postgresql:///postgres?host=\(place.files.directory)"
        for verb in [["queues"], ["enqueue", "--queue", "q", "--kind", "k", "--payload", "1"]] {
            let result = try await Tool.run(verb + ["--postgres", url])
            #expect(result.status == .exited(73) && result.errors.contains("cannot be reached"), "\(result)")
        }
    }

    @Test("Of --file and --postgres exactly one is given, and --schema needs the latter")
    func oneOfBoth() async throws {
        let place = try ServerPlace()
        for (options, reason) in [
            (place.options + ["--file", "q.sqlite"], "--file and --postgres exclude each other"),
            ([], "give one of --file and --postgres"),
            (["--file", "q.sqlite", "--schema", "s"], "--schema needs --postgres"),
            (["--postgres", ""], "--postgres is empty"), (["--file", ""], "--file is empty"),
        ] {
            let result = try await Tool.run(["queues"] + options)
            #expect(result.status == .exited(64) && result.errors.contains(reason), "\(options) \(result)")
        }
        #expect(!FileManager.default.fileExists(atPath: "q.sqlite"))
    }

    @Test("A wrong password ends with 73, and no password of an address is in any output")
    func passwords() async throws {
        let server = try TestServer(["fsync=off"])
        let place = try ServerPlace(server)
        try await place.sql("CREATE ROLE locked LOGIN SUPERUSER PASSWORD 'right'")
        let rules = URL(fileURLWithPath: "\(server.folder)/data/pg_hba.conf")
        try Data("local all locked scram-sha-256\nlocal all all trust\n".utf8).write(to: rules)
        try server.perform(.crash)
        func url(_ password: String) -> String {
            "postgresql://locked:\(password)@/postgres?host=\(server.folder)"
        }
        let enqueue = ["enqueue", "--queue", "q", "--kind", "k", "--payload", "1", "--postgres"]
        let right = try await Tool.run(enqueue + [url("right")])
        #expect(right.status == .exited(0), "\(right)")
        let wrong = try await Tool.run(enqueue + [url("tellnobody")])
        #expect(wrong.status == .exited(73) && wrong.errors.contains("password authentication failed"))
        let verbs = [
            ["queues"], ["doctor"], ["doctor", "--json"], ["show", "q"], ["export"], ["queues", "--what"],
            ["remove", "--all"], ["run", "--exec", "true", "--for", "1s"],
        ]
        var outputs: [Tool.Result] = [wrong]
        for verb in verbs { outputs.append(try await Tool.run(verb + ["--postgres", url("right")])) }
        for address in [
            "postgres://u:tellnobody@host.invalid/x", "postgres://u:tell@nobody@host.invalid/x",
            "postgres://u:tell/nobody@host.invalid/x", "host=host.invalid password=tellnobody port",
            "host=host.invalid password=tellnobody port=x",
            "postgres://u:tellnobody@h.invalid:x/x?y=z",
            "postgres://h.invalid/x?password=tellnobody&connect_timeout=1",
        ] {
            outputs.append(try await Tool.run(["queues", "--postgres", address]))
            outputs.append(try await Tool.run(["queues", address]))
            outputs.append(try await Tool.run([address]))
            outputs.append(try await Tool.run(["queues", "--postgres", address, "--file", "x"]))
        }
        for output in outputs {
            for part in ["tellnobody", "tell@nobody", "nobody@", ":right@", "right\""] {
                #expect(!(output.output + output.errors).contains(part), "\(part): \(output)")
            }
        }
    }

    @Test("Messages hide passwords of URLs and of settings, and leave the rest")
    func hidden() {
        let url = "postgres://u:pw@h/db"
        #expect(Secrets.hide(of: url, in: "no \(url) pw") == "no postgres://u:***@h/db pw")
        let settings = "host=h password=pw user=u"
        #expect(Secrets.hide(of: settings, in: settings) == "host=h password=*** user=u")
        #expect(Secrets.hide(of: "password='a b'", in: "x password='a b'") == "x password=***")
        for url in ["postgres://u:a@b@h", "postgres://u:a/b@h/db"] {
            #expect(Secrets.hasUnescapedPassword(url), "\(url)")
        }
        for url in ["postgres://u:a%40b@h/db", "postgres://h/db", "postgres:///db?host=/tmp", "host=a@b"] {
            #expect(!Secrets.hasUnescapedPassword(url), "\(url)")
        }
    }
}
#endif
