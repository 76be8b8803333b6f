import TestSupport
import Testing

@testable import SluiceSQLite

@Suite("Cached statements", .watched)
struct StatementCacheTests {
    @Test("Each of a thousand texts, one beside the other, has its own statement, until all are removed")
    func many() throws {
        let connection = try memory()
        let statements = try (0..<1_000).map { try connection.prepare("SELECT \($0)") }
        let memory = UnsafeMutablePointer<UInt8>.allocate(capacity: statements.count)
        defer { memory.deallocate() }
        let addresses = statements.indices.map { UnsafePointer(memory + $0) }
        let cache = StatementCache()
        for (address, statement) in zip(addresses, statements) {
            #expect(cache[address] == nil)
            cache.add(statement, at: address)
        }
        for (address, statement) in zip(addresses, statements) { #expect(cache[address] === statement) }
        #expect(cache.all.count == statements.count)
        cache.removeAll()
        #expect(cache.all.isEmpty && addresses.allSatisfy { cache[$0] == nil })
    }
}
