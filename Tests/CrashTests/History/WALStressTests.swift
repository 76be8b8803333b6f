#if CommandLineTool
import Foundation
import Sluice
import SluiceTestKit
import Subprocess
import SystemPackage
import TestSupport
import Testing

/// Processes of the engine, shells, a GRDB pool and a program with SQLite of its own on one file, all of
/// which commit and checkpoint: what SQLite's WAL-reset bug needs.
///
/// `SLUICE_WAL_SECONDS` says for how long, and nothing else runs beside it: 15 seconds in `make test-all`,
/// five minutes in `make test-wal`. With `SLUICE_WAL_UNGUARDED` set
/// the engine does nothing about the bug, to see what the test finds then.
@Suite("Many who commit and checkpoint", .watched(minutes: 30)) struct WALStressTests {
    private static let seconds = ProcessInfo.processInfo.environment["SLUICE_WAL_SECONDS"].flatMap { Int($0) }

    @Test(
        "G1, G12: nothing is lost where processes, shells and programs commit and checkpoint",
        .needs("python3"),
        .enabled(if: seconds != nil, "`make test-all` runs it alone"),
        .enabled(if: RealInput.isThere, "this machine has no ../shared/data/conversations.jsonl")
    )
    func stress() async throws {
        let seconds = try #require(Self.seconds)
        let seed = Reliability.seed
        print("the seed of the log's test: \(seed)")
        let file = try TemporaryFile()
        let broker = try await Broker(file: file.path)
        await broker.close()
        try await Foreigner.prepare(file.path)
        var workers = Workers(
            site: FileSite(file: file),
            count: 3,
            seconds: seconds,
            seed: seed,
            lines: 200 * seconds
        )
        workers.isDisturbed = false
        async let programs = try await withThrowingTaskGroup(of: [String].self) { group in
            for kind in Foreigner.Kind.allCases {
                let other = Foreigner(path: file.path, seconds: seconds, kind: kind)
                group.addTask { try await other.run() }
            }
            return try await group.reduce(into: [String]()) { $0 += $1 }
        }
        let history = try await workers.run()
        let acknowledged = try await programs
        let found = HistoryChecker.violations(of: history, takeover: Workers.takeover)
        #expect(found.isEmpty, "seed \(seed): \(found.count), such as \(found.prefix(10))")
        #expect(try await Shell.answer(file.path, "PRAGMA integrity_check") == ["ok"], "seed \(seed)")
        let stored = Set(try await Shell.answer(file.path, "SELECT source || ' ' || number FROM outside"))
        let lost = acknowledged.filter { !stored.contains($0) }
        #expect(lost.isEmpty, "seed \(seed): \(lost.count) commits of others, such as \(lost.prefix(10))")
        Reliability.report(
            "wal",
            "\(seconds) seconds, \(history.runs.count) runs; \(acknowledged.count) commits of others, "
                + "\(lost.count) lost"
        )
        for kind in Foreigner.Kind.allCases {
            #expect(acknowledged.contains { $0.hasPrefix("\(kind.rawValue) ") })
        }
    }
}

/// A program that writes to a table of its own in the engine's file and checkpoints as it likes.
struct Foreigner {
    enum Kind: String, CaseIterable {
        /// `sqlite3` processes, one after the other.
        case shells
        /// A GRDB pool, in a process of its own.
        case pool
        /// Python's SQLite, with the file mapped into memory.
        case program
    }

    let path: String
    let seconds: Int
    let kind: Kind

    static func prepare(_ path: String) async throws {
        _ = try await Shell.answer(
            path,
            """
            CREATE TABLE outside (source TEXT, number INTEGER, filler BLOB, PRIMARY KEY (source, number));
            CREATE TABLE pages (id INTEGER PRIMARY KEY, filler BLOB);
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
            INSERT INTO pages SELECT i, randomblob(3000) FROM n;
            """
        )
    }

    /// Runs it, and tells what it has committed.
    func run() async throws -> [String] {
        let log = path + ".outside-" + kind.rawValue
        let (executable, script): (Executable, [String]) =
            switch kind {
            case .shells: (.name("bash"), ["-c", Self.shell])
            case .pool: (.path(FilePath(BuiltProducts.path(of: "PoolWriter"))), [])
            case .program: (.name("python3"), ["-c", Self.program])
            }
        let result = try await Subprocess.run(
            executable,
            arguments: Arguments(script + [path, log, kind.rawValue, "\(seconds)"]),
            output: .discarded,
            error: .string(limit: 65_536)
        )
        #expect(result.terminationStatus == .exited(0), "\(result.standardError)")
        return try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n").map(String.init)
    }

    /// One shell after the other: each copies the log at its commit, and at its close if it is the last.
    private static let shell = #"""
        end=$((SECONDS + $3)); number=0
        while [ $SECONDS -lt $end ]; do
            number=$((number + 1))
            sqlite3 -bail -cmd '.timeout 60000' "$0" "PRAGMA wal_autocheckpoint = 1;
                INSERT INTO outside VALUES ('$2', $number, randomblob(2000));" > /dev/null || exit 1
            echo "$2 $number" >> "$1"
        done
        """#

    /// A connection that stays open, and maps the file into memory: giving the map up makes the moment longer
    /// in which a checkpoint of an affected SQLite must not meet a commit.
    private static let program = #"""
        import random, sqlite3, sys, time
        path, log, name, seconds = sys.argv[1:5]
        draw = random.Random(name)
        def connect():
            db = sqlite3.connect(path, timeout=60, isolation_level=None)
            db.execute(f"PRAGMA wal_autocheckpoint = {draw.choice([1, 10, 100])}")
            db.execute("PRAGMA mmap_size = 268435456")
            return db
        db, number, end = connect(), 0, time.monotonic() + float(seconds)
        with open(log, "a", buffering=1) as out:
            while time.monotonic() < end:
                number += 1
                db.execute("BEGIN IMMEDIATE")
                db.execute("INSERT INTO outside VALUES (?, ?, randomblob(500))", (name, number))
                first = draw.randint(1, 2000)
                db.execute("UPDATE pages SET filler = randomblob(3000) WHERE id BETWEEN ? AND ?",
                           (first, first + draw.choice([0, 3, 60])))
                db.execute("COMMIT")
                out.write(f"{name} {number}\n")
                for _ in range(draw.randint(0, 3)):
                    db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
                chance = draw.random()
                if chance < 0.01: db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
                elif chance < 0.02: db.close(); db = connect()
                elif chance < 0.2: db.execute("SELECT sum(length(filler)) FROM pages").fetchall()
        """#
}
#endif
