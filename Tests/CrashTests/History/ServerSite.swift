#if CommandLineTool && PostgreSQL
import Foundation
import Subprocess
import Synchronization
import TestSupport
import Testing

/// A database of a PostgreSQL server, which each worker reaches through a proxy of its own.
struct ServerSite: HistorySite {
    let server: TestServer
    /// Whether the server's disk is a small one of its own, which is filled.
    let hasSmallDisk: Bool
    let folder: String
    private let proxies: [SocketProxy]
    private let counts = Counts()

    /// How often what was done.
    final class Counts: Sendable {
        let crashes = Mutex(0)
        let fullDisks = Mutex(0)
        let terminated = Mutex(0)
        let cuts = Mutex(0)
    }

    /// With syncs, as a server should have them; those of a small disk of its own, which not everybody may
    /// mount, cost nothing.
    init(workers: Int, onSmallDisk: Bool) throws {
        let small = onSmallDisk ? try? TestServer(["--disk", "300M", "max_wal_size=64MB"]) : nil
        let server = try small ?? TestServer()
        self.server = server
        hasSmallDisk = small != nil
        folder =
            FileManager.default.temporaryDirectory
            .appending(path: "histories-\(UInt32.random(in: 0 ... .max))").path
        proxies = try (0..<workers).map { _ in try SocketProxy(before: server.folder) }
    }

    func end() {
        for proxy in proxies { proxy.end() }
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// What was done to the server and its connections.
    var disturbances: String {
        "\(counts.crashes.withLock(\.self)) crashes of the server, "
            + "\(counts.fullDisks.withLock(\.self)) of them on a full disk, "
            + "\(counts.terminated.withLock(\.self)) "
            + "connections ended by it, \(counts.cuts.withLock(\.self)) cuts and delays"
    }

    var hasSeenAll: Bool {
        counts.crashes.withLock { $0 > 0 } && counts.terminated.withLock { $0 > 0 }
            && counts.cuts.withLock { $0 > 0 } && (!hasSmallDisk || counts.fullDisks.withLock { $0 > 0 })
    }

    func place(of worker: Int?) -> String {
        let folder = worker.map { proxies[$0].folder } ?? server.folder
        return "postgresql:///postgres?host=\(folder)&user=postgres"
    }

    func prepare() async throws { _ = try await answer(Self.tables) }

    func cutOff(_ worker: Int, _ random: inout Seeded) async throws -> History.Freeze? {
        counts.cuts.withLock { $0 += 1 }
        let proxy = proxies[worker]
        guard Int.random(in: 0..<2, using: &random) == 0 else {
            proxy.cut()
            return nil
        }
        // Some delays are longer than the lease.
        let isLong = Int.random(in: 0..<6, using: &random) == 0
        let duration = Int.random(in: isLong ? 4_000...6_000 : 20...1_500, using: &random)
        let from = Workers.now()
        proxy.set(.hold)
        try await Workers.pass(.milliseconds(duration))
        proxy.set(.pass)
        return History.Freeze(process: "", from: from, to: Workers.now())
    }

    func disturb(until end: Int64, _ random: inout Seeded) async throws -> [History.Freeze] {
        var turn = 0
        var outages: [History.Freeze] = []
        while true {
            try await Workers.pass(.milliseconds(Int.random(in: 500...3_000, using: &random)))
            guard Workers.now() < end else { return outages }
            turn += 1
            let from = Workers.now()
            if turn % 8 == 4, hasSmallDisk {
                try await fillDisk(&random)
                outages.append(History.Freeze(process: "", from: from, to: Workers.now()))
            } else if turn % 4 == 2 {
                try await perform(.crash)
                outages.append(History.Freeze(process: "", from: from, to: Workers.now()))
                counts.crashes.withLock { $0 += 1 }
            } else {
                let ended = try await answer(
                    """
                    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                    WHERE pid <> pg_backend_pid() AND backend_type = 'client backend' AND random() < 0.3
                    """
                )
                counts.terminated.withLock { $0 += ended.count }
            }
        }
    }

    /// Has no room on the disk for a time, and a restart in it.
    private func fillDisk(_ random: inout Seeded) async throws {
        try await perform(.fill)
        try await Workers.pass(.milliseconds(Int.random(in: 200...2_000, using: &random)))
        try await perform(.crash)
        try await Workers.pass(.milliseconds(Int.random(in: 100...1_000, using: &random)))
        try await perform(.free)
        counts.crashes.withLock { $0 += 1 }
        counts.fullDisks.withLock { $0 += 1 }
    }

    private func perform(_ order: TestServer.Order) async throws {
        try await onOwnThread { [server] in try server.perform(order) }
    }

    func effects() async throws -> [History.Effect] {
        try await answer("SELECT line, process, run FROM effects ORDER BY id").map { row in
            let fields = row.split(separator: "|").map(String.init)
            guard fields.count == 3, let line = Int(fields[0]), let run = Int(fields[2]) else {
                throw HistoryError.malformed(row)
            }
            return History.Effect(line: line, process: fields[1], run: run)
        }
    }

    func messages() async throws -> [Int: Int64] {
        let rows = try await answer("SELECT line, action FROM messages").map { row in
            let fields = row.split(separator: "|")
            guard fields.count == 2, let line = Int(fields[0]), let action = Int64(fields[1]) else {
                throw HistoryError.malformed(row)
            }
            return (line, action)
        }
        return Dictionary(rows) { first, _ in first }
    }

    /// The lines that `psql` answers.
    func answer(_ sql: String) async throws -> [String] {
        let result = try await Subprocess.run(
            .name("psql"),
            arguments: ["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", place(of: nil), "-c", sql],
            output: .string(limit: 16 * 1_024 * 1_024),
            error: .string(limit: 65_536)
        )
        try #require(result.terminationStatus == .exited(0), "\(result.standardError)")
        return result.standardOutput.split(separator: "\n").map(String.init)
    }
}
#endif
