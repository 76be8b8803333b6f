#if PostgreSQL
import Foundation
import Logging
import Sluice
import SluicePostgres
import SluiceTestKit
import Synchronization
import TestSupport
import Testing

@Suite(
    "Each call answers on PostgreSQL as on a file",
    .watched,
    .enabled(if: TestServer.isToRun, "`make test-all` runs it, where there is a server")
)
struct PostgresCallTableTests {
    @Test("G16: on a server as on a file, but for a list of differences", arguments: CallCase.compared)
    func server(_ row: CallCase) async throws {
        guard let server = TestServer.shared else { return }
        let schema = try Schemas.shared.take(server)
        let lines = EventLog<String>()
        let place = PostgresSite(server, schema: schema)
        let broker = try await place.broker { options, _ in options.logger = .keeping(lines, from: .notice) }
        let site = try CallSite(broker, place.clock, lines)
        try await row.body(site)
        let answers = try await site.end()
        Schemas.shared.giveBack(schema)
        let file = try await CallTableTests.transcript(row, .file)
        let (left, right) = (ServerDifference.without(answers), ServerDifference.without(file))
        let differences = Transcript.differences(left, right)
        let all = [["on the server:"], answers, ["on the file:"], file].joined().joined(separator: "\n")
        #expect((left == right) != ServerDifference.concerns(row), "\(differences)\n\(all)")
    }
}

@Suite("The guide to PostgreSQL lists how calls differ", .watched) struct ServerDifferenceTests {
    @Test("Each difference that the table of calls knows is there, and no other")
    func listed() throws {
        let path = URL(fileURLWithPath: #filePath)
            .appending(path: "../../../../Sources/SluicePostgres/SluicePostgres.docc/SluicePostgres.md")
        let guide = try String(contentsOf: path.standardized, encoding: .utf8)
        let start = try #require(guide.range(of: "Calls that answer in another way than on a file:\n\n"))
        let list = guide[start.upperBound...].prefix(
            upTo: guide.range(of: "\n\n", range: start.upperBound..<guide.endIndex)?.lowerBound
                ?? guide.endIndex
        )
        let sentences = list.replacing("\n  ", with: " ").split(separator: "\n").map {
            String($0.dropFirst(2))
        }
        #expect(sentences == ServerDifference.all.map(\.reason))
    }
}

/// Schemas that rows use one after the other: to make one takes longer than a row.
private final class Schemas: Sendable {
    static let shared = Schemas()
    private let free = Mutex<[String]>([])

    func take(_ server: TestServer) throws -> String {
        guard let schema = free.withLock({ $0.popLast() }) else {
            return "calls_\(UInt64.random(in: 0 ... .max))"
        }
        let empty = """
            DO $$ BEGIN
                EXECUTE (SELECT 'TRUNCATE ' || string_agg(format('%I.%I', schemaname, tablename), ', ')
                                || ' RESTART IDENTITY'
                         FROM pg_tables
                         WHERE schemaname = '\(schema)' AND tablename LIKE 'sluice\\_%\\_rows');
                PERFORM setval(format('%I.%I', schemaname, sequencename)::regclass, start_value, false)
                FROM pg_sequences WHERE schemaname = '\(schema)';
            END $$
            """
        try server.execute(empty)
        return schema
    }

    func giveBack(_ schema: String) { free.withLock { $0.append(schema) } }
}

/// What a server does not do as a file does, with the reason.
private struct ServerDifference {
    /// A sentence of the guide.
    let reason: String
    /// Kinds of events that have no counterpart.
    var events: [String] = []
    /// The rows that answer in another way.
    var rows: [String] = []

    static let all: [ServerDifference] = [
        ServerDifference(
            reason: "`events` has those of attempts and skips alone.",
            events: [
                "enqueued", "idle", "held", "resumed", "edited", "removed", "moved", "changed", "requeued",
                "emptyWake", "gateOpened", "gateClosed",
            ]
        ),
        ServerDifference(
            reason: "The events of an attempt can come before that of the act that has let it start."
        ),
        ServerDifference(
            reason: "A text with a NUL is refused.",
            rows: [
                "actions(tag:limit:), 'a\\0b'", "hold(_:by:reason:for:), the holder 'a\\0b'",
                "hold(_:by:reason:for:), the reason 'a\\0b'", "endHolds(matching:by:), 'a\\0b'",
                "skipHead(of:only:reason:), the reason 'a\\0b'",
                "enqueue(_:_:notBefore:), the sort key 'a\\0b'",
                "endHolds(matching:by:), 'aNULb'",
            ]
        ),
        ServerDifference(
            reason: "The end of an action that `cancel(queues:)` has removed is `unknown`.",
            rows: [
                "waiting", "scheduled", "gated", "held", "retrying", "parked", "behind a parked one",
            ]
            .map { "cancel(queues:), \($0)" }
        ),
        ServerDifference(
            reason: "Refusals of keys have other words.",
            rows: [
                "a key that refuses", "the sort key a date", "the sort key a distant date",
                "the sort key a number", "the sort key a text", "the sort key an integer",
                "the sort key several", "the sort key infinity",
            ]
            .map { "enqueue(_:_:notBefore:), \($0)" }
        ),
        ServerDifference(
            reason: "A sort key can have fewer bytes.",
            rows: ["enqueue(_:_:notBefore:), the sort key 4000 bytes"]
        ),
        ServerDifference(
            reason: "An action has no `notBefore` if that is over at the enqueue.",
            rows: ["enqueue(_:_:notBefore:), earlier", "enqueue(_:_:notBefore:), at the beginning of time"]
        ),
        ServerDifference(
            reason: "`runNow(_:)` and the calls of a queue handle, other than `add`, are refused.",
            rows: ["runNow(_:includingRetries:), without batches", "queue(_:of:), what its handle does"]
        ),
        ServerDifference(reason: "Groups are refused.", rows: ["enqueue(_:_:notBefore:), a group"]),
        ServerDifference(
            reason: "An action that waits for a retry and is scheduled has the phase `scheduled`.",
            rows: ["reschedule(_:notBefore:), retrying"]
        ),
        ServerDifference(
            reason: "`retryNow` counts a queue at a closed gate in another way.",
            rows: ["retryNow(_:), gated"]
        ),
        ServerDifference(
            reason:
                "A queue without a route is not logged, and is `stopped` alone when no worker runs.",
            rows: ["run(), no route for a queue and a kind"]
        ),
        ServerDifference(
            reason: "`settled(_:)` of a closed broker throws.",
            rows: ["close(grace:), then each call"]
        ),
    ]

    static func without(_ transcript: [String]) -> [String] {
        let starts = all.flatMap(\.events).map { "event: QueueEvent(kind: \($0)," }
        let lines = transcript.filter { line in !starts.contains { line.hasPrefix($0) } }
        let (events, others) = (lines.filter(\.isEvent), lines.filter { !$0.isEvent })
        // Those of one action have an order.
        let actions = Set(events.map(\.action)).sorted()
        return others + actions.flatMap { action in events.filter { $0.action == action } }
    }

    static func concerns(_ row: CallCase) -> Bool {
        all.contains { $0.rows.contains(row.testDescription) }
    }
}

extension String {
    fileprivate var isEvent: Bool { hasPrefix("event: ") }
    /// The number of the action that an event is about, as text.
    fileprivate var action: String { firstMatch(of: /action: (\d+)/).map { String($0.output.1) } ?? "" }
}
#endif
