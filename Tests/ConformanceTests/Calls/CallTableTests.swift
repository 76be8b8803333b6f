import Foundation
import Logging
import Sluice
import SluiceTestKit
import TestSupport
import Testing

@Suite("Each call answers alike, wherever the queues are", .watched) struct CallTableTests {
    @Test("G16: in memory as on a file", arguments: CallCase.all)
    func memory(_ row: CallCase) async throws {
        try await #expect(Self.transcript(row, .memory) == Self.transcript(row, .file))
    }

    static func transcript(_ row: CallCase, _ storage: QueueStorage) async throws -> [String] {
        FileHandle.standardError.write(Data("begin \(row.testDescription) \(storage)\n".utf8))
        defer { FileHandle.standardError.write(Data("end \(row.testDescription) \(storage)\n".utf8)) }
        let lines = EventLog<String>()
        let place = try Site(storage)
        let broker = try await place.broker { $0.logger = .keeping(lines, from: .notice) }
        let site = try CallSite(broker, place.clock, lines)
        try await row.body(site)
        return try await site.end()
    }
}
