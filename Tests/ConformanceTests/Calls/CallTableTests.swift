import Foundation
import Logging
import Sluice
import SluiceTestKit
import TestSupport
import Testing

@Suite("Each call answers alike, wherever the queues are", .watched) struct CallTableTests {
    /// Calls without a row: their answers are covered by the promises, or come without an end.
    private static let withoutRow: Set<String> = [
        "events(buffering:)", "inMemory(_:)", "observeOnMain(buffering:_:)", "payloadSealingChanged()",
        "route(_:to:_:)", "route(where:_:_:handler:)", "upgrade(_:from:_:)", "upgrade(_:from:reading:_:)",
        "waitUntilIdle()",
    ]

    @Test("G16: in memory as on a file", arguments: CallCase.compared)
    func memory(_ row: CallCase) async throws {
        let (memory, file) = try await (Self.transcript(row, .memory), Self.transcript(row, .file))
        #expect(memory == file, "\(Transcript.differences(memory, file))")
    }

    @Test("Each public call has a row")
    func calls() throws {
        let place = URL(fileURLWithPath: #filePath).appending(path: "../../../../Interface/Sluice.txt")
        let interface = try String(contentsOf: place.standardized, encoding: .utf8)
        let calls = interface.split(separator: "\n").filter { $0.hasPrefix("Broker: ") }
            .compactMap(Self.name)
        #expect(calls.count > 80)
        let rows = Set(CallCase.all.map(\.call))
        // Of the forms of a call, one has a row: that with all parameters.
        let forms = Dictionary(grouping: calls) { $0.prefix { $0 != "(" } }
        let missing = forms.values.filter { rows.isDisjoint(with: $0) }.flatMap { $0 }
        #expect(Set(missing).subtracting(Self.withoutRow) == [], "a call needs a row")
        #expect(rows.subtracting(calls) == [], "no such call in Interface/: is `make interface` due?")
    }

    /// The name of a function: of `func move(_ action: ActionID, to queue: QueueName)` it is `move(_:to:)`.
    private static func name(_ line: Substring) -> String? {
        guard let start = line.range(of: "func ")?.upperBound, let open = line[start...].firstIndex(of: "(")
        else { return nil }
        var (depth, labels, word, isLabel) = (0, "", "", true)
        scan: for character in line[open...] {
            switch character {
            case "(", "<", "[": depth += 1
            case ")", ">", "]": depth -= 1
            case ":" where depth == 1 && isLabel: (labels, word, isLabel) = (labels + word + ":", "", false)
            case "," where depth == 1: isLabel = true
            case " " where depth == 1 && !word.isEmpty && isLabel:
                (labels, word, isLabel) = (labels + word + ":", "", false)
            case _ where depth == 1 && isLabel && character != " ": word.append(character)
            default: break
            }
            if depth == 0 { break scan }
        }
        return line[start..<open].prefix { $0 != "<" } + "(\(labels))"
    }

    static func transcript(_ row: CallCase, _ storage: QueueStorage) async throws -> [String] {
        let lines = EventLog<String>()
        let place = try Site(storage)
        let broker = try await place.broker { $0.logger = .keeping(lines, from: .notice) }
        let site = try CallSite(broker, place.clock, lines)
        try await row.body(site)
        return try await site.end()
    }
}
