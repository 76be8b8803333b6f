#if CommandLineTool
import Foundation
import SluiceTestKit
import Subprocess
import SystemPackage
import TestSupport
import Testing

@Suite("Background Operations: the units for systemd", .watched) struct SystemdTests {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../Examples/systemd")
    private static let tool = "/usr/local/bin/sluice"
    private static let file = "/var/lib/outbox/queues.sqlite"
    private static let handler = "/usr/local/libexec/outbox-send"

    private static func unit(_ name: String) throws -> String {
        try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)
    }

    /// The values of a setting, each with its section.
    private static func values(_ name: String, in text: String) -> [String] {
        var section = ""
        return text.split(separator: "\n").compactMap { line in
            if line.hasPrefix("[") { section = String(line) }
            guard line.hasPrefix("\(name)=") else { return nil }
            return "\(section) \(line.dropFirst(name.count + 1))"
        }
    }

    /// The built tool; it stands beside the tests.
    private static let builtTool = BuiltProducts.path(of: "sluice")

    /// Runs a program to its end, and returns its standard output.
    private static func run(
        _ words: [String],
        expecting status: TerminationStatus
    ) async throws -> String {
        let result = try await Subprocess.run(
            words[0].contains("/") ? .path(FilePath(words[0])) : .name(words[0]),
            arguments: Arguments(Array(words.dropFirst())),
            output: .string(limit: 65_536),
            error: .string(limit: 65_536)
        )
        #expect(
            result.terminationStatus == status,
            "\(words) \(result.standardOutput) \(result.standardError)"
        )
        return result.standardOutput
    }

    @Test(
        "The command of a unit works off a file, stops in time, and tells by its status what is left",
        arguments: [("outbox-drain.service", "ExecStart"), ("outbox-shutdown.service", "ExecStop")]
    )
    func commands(unit: String, setting: String) async throws {
        let place = try TemporaryFile(name: "queues.sqlite")
        let script = place.path + ".sh"
        try Data("#!/bin/sh\ncat\necho\ntest \"$SLUICE_QUEUE\" = a\n".utf8).write(
            to: URL(fileURLWithPath: script)
        )
        #expect(chmod(script, 0o700) == 0)
        let command = try #require(Self.values(setting, in: Self.unit(unit)).first)
        let words = command.split(separator: " ").dropFirst().map { word in
            switch word {
            case Substring(Self.tool): Self.builtTool
            case Substring(Self.file): place.path
            case Substring(Self.handler): script
            // Some seconds are as good as most of a minute: they must do for processes to start in.
            case "50s", "25s": "9s"
            default: String(word)
            }
        }
        #expect(words[0] == Self.builtTool && words.contains(place.path) && words.contains(script))
        func enqueue(_ queue: String) async throws {
            let arguments = [
                "enqueue", "--file", place.path, "--queue", queue, "--kind", "k", "--payload", "7",
            ]
            _ = try await Self.run([Self.builtTool] + arguments, expecting: .exited(0))
        }
        try await enqueue("a")
        #expect(try await Self.run(words, expecting: .exited(0)) == "7\n")
        // This one fails again and again, and is left for the next time.
        try await enqueue("b")
        #expect(try await Self.run(words, expecting: .exited(10)).hasPrefix("7\n"))
    }

    @Test("What more than one unit says agrees, and the status for work that is left is no failure")
    func settings() throws {
        for (unit, limit, command) in [
            ("outbox-drain.service", "TimeoutStartSec", "ExecStart"),
            ("outbox-shutdown.service", "TimeoutStopSec", "ExecStop"),
        ] {
            let text = try Self.unit(unit)
            func seconds(_ name: String) throws -> Double {
                try #require(
                    Self.values(name, in: text).first?.split(separator: " ").last.flatMap { Double($0) }
                )
            }
            #expect(Self.values("SuccessExitStatus", in: text) == ["[Service] 10"])
            #expect(Self.values("Type", in: text) == ["[Service] oneshot"])
            // Whoever enqueues runs as this user: nobody else may read or write there.
            #expect(Self.values("User", in: text) == ["[Service] outbox"])
            #expect(Self.values("StateDirectory", in: text) == ["[Service] outbox"])
            #expect(Self.values("StateDirectoryMode", in: text) == ["[Service] 0700"])
            // The tool's own time is over before systemd's.
            let line = try #require(Self.values(command, in: text).first)
            let span = try #require(line.split(separator: " ").compactMap { Double($0.dropLast()) }.last)
            try #expect(span < seconds(limit), "\(unit)")
            // And when systemd stops it earlier, what it then needs: the grace, and three times the patience.
            let needed = min(span / 5, 10) + 3 * min(span / 20, 5)
            try #expect(needed + 5 < seconds("TimeoutStopSec"), "\(unit)")
        }
        #expect(
            try Self.values("WantedBy", in: Self.unit("outbox-drain.timer")) == ["[Install] timers.target"]
        )
        let readme = try Self.unit("README.md")
        for unit in Self.units {
            #expect(readme.contains("`\(unit)`"))
        }
    }

    @Test("Every line of a unit is a comment, or a setting that its section has")
    func lines() throws {
        let known: [String: Set<String>] = [
            "[Unit]": ["Description", "Wants", "After", "Before"],
            "[Service]": [
                "Type", "RemainAfterExit", "User", "StateDirectory", "StateDirectoryMode", "ExecStart",
                "ExecStop",
                "SuccessExitStatus", "TimeoutStartSec", "TimeoutStopSec", "KillMode", "NoNewPrivileges",
                "PrivateTmp", "ProtectHome", "ProtectSystem",
            ],
            "[Timer]": ["OnBootSec", "OnUnitInactiveSec", "AccuracySec"],
            "[Install]": ["WantedBy"],
        ]
        for unit in Self.units {
            var section: Set<String> = []
            var settings = 0
            for line in try Self.unit(unit).split(separator: "\n") where !line.hasPrefix("#") {
                if line.hasPrefix("[") {
                    let names = known[String(line)]
                    section = try #require(names, "\(unit): \(line)")
                    continue
                }
                let parts = line.split(separator: "=", maxSplits: 1)
                #expect(parts.count == 2, "\(unit): \(line)")
                #expect(section.contains(String(parts[0])), "\(unit): \(line)")
                settings += 1
            }
            #expect(settings >= 5, "\(unit)")
        }
    }

    private static let units = ["outbox-drain.timer", "outbox-drain.service", "outbox-shutdown.service"]

    @Test(
        "systemd-analyze finds no fault with them",
        .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/systemd-analyze"))
    )
    func verified() async throws {
        let place = try TemporaryFile(name: "unused")
        let folder = URL(fileURLWithPath: place.path).deletingLastPathComponent()
        for unit in Self.units {
            // The commands stand elsewhere here, and it looks whether they are there.
            let text = try Self.unit(unit).replacingOccurrences(of: Self.tool, with: Self.builtTool)
            #expect(text.contains("[Unit]\nDescription="))
            try Data(text.utf8).write(to: folder.appendingPathComponent(unit))
        }
        let paths = Self.units.map { folder.appendingPathComponent($0).path }
        let result = try await Subprocess.run(
            .name("systemd-analyze"),
            arguments: Arguments(["verify", "--man=no"] + paths),
            output: .string(limit: 65_536),
            error: .string(limit: 65_536)
        )
        // It also speaks of units of the machine's.
        let ours = result.standardError.split(separator: "\n").filter { $0.contains("outbox") }
        #expect(ours.isEmpty, "\(result.standardError)")
    }
}
#endif
