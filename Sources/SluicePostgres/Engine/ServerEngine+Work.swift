#if PostgreSQL
internal import Logging
package import Sluice
internal import Synchronization

/// The work that is left in the queues of some patterns, for a worker that ends by itself.
extension ServerEngine {
    /// Returns the work of the queues of some patterns; each queue counts once.
    ///
    /// - Parameter isEnough: Stop reading when something is due; then the counts are not complete.
    private func work(
        _ patterns: [QueuePattern],
        isEnough: Bool = false
    ) async throws(SluiceError) -> WorkLeft {
        var (due, elsewhere) = (0, 0)
        var counts: [QueueStatus.State: Int] = [:]
        var (earliest, now): (Timestamp?, Timestamp) = (nil, options.clock.now)
        for pattern in try Self.widest(patterns) {
            let sql = """
                SELECT due, elsewhere, parked, undecodable, unknown_kind, held, gate, \
                \(microseconds("next_at")) AS next_at, \(microseconds("now_at")) AS now_at \
                FROM @sluice_work_left($1, NULL, $2)
                """
            let rows = try await read(
                "reading what is left to do",
                sql,
                [pattern.rawValue, isEnough ? "t" : "f"]
            )
            guard let row = rows.first else { continue }
            now = row.time("now_at") ?? now
            due += Int(row.integer("due") ?? 0)
            elsewhere += Int(row.integer("elsewhere") ?? 0)
            earliest = [earliest, row.time("next_at")].compactMap(\.self).min()
            for (obstacle, column) in [
                (.parked, "parked"), (.undecodable, "undecodable"), (.unknownKind, "unknown_kind"),
                (.held, "held"), (.gate, "gate"),
            ] as [(QueueStatus.State, String)] {
                counts[obstacle, default: 0] += Int(row.integer(column) ?? 0)
            }
            if isEnough, let earliest, earliest <= now { break }
        }
        return WorkLeft(
            now: now,
            dueCount: due,
            elsewhereCount: elsewhere,
            earliest: earliest,
            counts: counts
        )
    }

    /// Returns the work of the queues of some patterns, apart from that of other workers.
    package func workLeft(
        _ patterns: [QueuePattern],
        isEnough: Bool
    ) async throws(SluiceError) -> WorkLeft {
        var running = 0
        for pattern in try Self.widest(patterns) {
            let sql = "SELECT count(*) AS count FROM @sluice_statuses($1, '{running}', 1000000)"
            let rows = try await read("counting what runs", sql, [pattern.rawValue])
            running += Int(rows.first?.integer("count") ?? 0)
        }
        let left = try await work(patterns)
        let elsewhere = min(max(running - activeCount, 0), left.dueCount)
        return left.apart(elsewhere)
    }

    /// An error of the server may pass, and is waited for.
    package func waitUntilIdle(
        _ patterns: [QueuePattern],
        within limit: Duration?,
        telling report: (IdleWait) -> Bool
    ) async {
        let start = options.clock.uptime
        var (mustRun, hasTold) = (!isRunning, false)
        while !Task.isCancelled {
            let count = loop.changes.count
            if isRunning { mustRun = false } else if !mustRun { return }
            if life.withLock({ $0.state == .closed }) { return }
            // Until the server has the routes, it does not know what can run.
            if !mustRun, !loop.hasNewRoutes {
                do throws(SluiceError) {
                    let left = try await waitingWork(patterns, countsOthers: limit == nil)
                    guard let wait = IdleWait(left, waited: options.clock.uptime - start) else { return }
                    if case .later(let delay) = left.next {
                        if let limit, options.clock.uptime + delay >= start + limit { return }
                        if !hasTold { hasTold = report(wait) }
                    }
                } catch {
                    if error.code == .closed { return }
                    options.logger.debug("reading what is left failed", metadata: ["error": "\(error)"])
                }
            }
            await loop.changes.next(since: count, within: server.pollInterval)
        }
    }

    /// How many actions run in this process.
    private var activeCount: Int { loop.state.withLock { $0.active.count } }

    /// Reads all only if nothing runs here, as it takes long with many queues.
    private func waitingWork(
        _ patterns: [QueuePattern],
        countsOthers: Bool
    ) async throws(SluiceError) -> WorkLeft {
        let left = try await work(patterns, isEnough: true)
        guard !countsOthers, left.next == .now, activeCount == 0 else { return left }
        return try await workLeft(patterns, isEnough: false).apart(nil)
    }

    /// The patterns whose queues no other one of them has.
    private static func widest(_ patterns: [QueuePattern]) throws(SluiceError) -> [QueuePattern] {
        var found: [QueuePattern] = []
        for pattern in patterns where !found.contains(pattern) {
            var isCovered = false
            for other in patterns where other != pattern {
                if try covers(other.form(), pattern.form()) { isCovered = true }
            }
            if !isCovered { found.append(pattern) }
        }
        return found
    }

    private static func covers(_ wide: QueuePattern.Form, _ narrow: QueuePattern.Form) -> Bool {
        switch (wide, narrow) {
        case (.exact, _): false
        case (.prefix, .exact(let queue)): wide.matches(queue)
        case (.prefix(let wide), .prefix(let narrow)): narrow.starts(with: wide)
        }
    }
}
#endif
