internal import SluiceSQLite

/// Owns the rate limits, which all processes of the file share, and counts the starts.
///
/// The algorithm is GCRA (<https://en.wikipedia.org/wiki/Generic_cell_rate_algorithm>). A limit is one time,
/// to which each start adds the limit's interval. An action may start while that time is no further ahead of
/// now than the burst allows.
final class Rates: TransactionSubject {
    let core: TransactionCore
    /// The times as this process has read or written them.
    private var times: [String: Timestamp] = [:]

    init(_ core: TransactionCore) { self.core = core }

    func forget() { times = [:] }

    /// Counts a start that a limit allows, or that is forced; otherwise returns how long it is to the next.
    func start(by rate: Admission.Rate, isForced: Bool) throws(SQLiteError) -> Duration? {
        let stored = try time(of: rate.name)
        let time = max(rate.bounded(stored, at: now), now)
        let wait = time - now - rate.tolerance
        guard wait > .zero, !isForced else {
            try set(rate.name, time + rate.interval)
            return nil
        }
        if time < stored { try set(rate.name, time) }
        return wait
    }

    /// Deletes the limits that have recovered from all starts: no row says the same.
    func removeRecovered() throws(SQLiteError) {
        try connection.cached("DELETE FROM sluice_rate_rows WHERE next_at_us <= ?1")
            .bind(1, now.microseconds).run()
    }

    private func time(of name: String) throws(SQLiteError) -> Timestamp {
        if let known = times[name] { return known }
        let stored = try connection.cached("SELECT next_at_us FROM sluice_rate_rows WHERE name = ?1")
            .bind(1, name).first { $0.int64(0) }
        let time = Timestamp(microseconds: stored ?? .min)
        times[name] = time
        return time
    }

    private func set(_ name: String, _ time: Timestamp) throws(SQLiteError) {
        let upsert: StaticString = """
            INSERT INTO sluice_rate_rows (name, next_at_us) VALUES (?1, ?2)
            ON CONFLICT (name) DO UPDATE SET next_at_us = excluded.next_at_us
            """
        try connection.cached(upsert).bind(1, name).bind(2, time.microseconds).run()
        times[name] = time
    }
}
