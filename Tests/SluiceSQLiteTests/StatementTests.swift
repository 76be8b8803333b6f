import SluiceSQLite
import TestSupport
import Testing

@Suite("Statements", .watched)
struct StatementTests {
    static let values: [Value] = [
        .null, .integer(0), .integer(.min), .integer(.max), .real(-0.5), .real(.infinity), .real(-.infinity),
        .text(""), .text("\u{0}"), .text("a\u{0}b"), .text("e\u{301}"), .text("é"), .text("👩‍👩‍👧‍👦"),
        .blob([]), .blob([0]), .blob([0, 255, 0]),
    ]

    @Test("A value comes back as it was bound, with its storage class", arguments: values)
    func roundTrip(_ value: Value) throws {
        let connection = try memory()
        try connection.insert(value)
        let stored = try connection.values()
        #expect(stored.count == 1)
        switch (value, stored[0]) {
        // Swift holds both spellings of é equal; SQLite does not.
        case (.text(let given), .text(let kept)): #expect(Array(given.utf8) == Array(kept.utf8))
        default: #expect(stored == [value])
        }
    }

    @Test("Text with NUL keeps its bytes behind the NUL, and compares with them")
    func nul() throws {
        let connection = try memory()
        for text in ["a\u{0}b", "a\u{0}a", "a"] { try connection.insert(.text(text)) }
        #expect(
            try connection.prepare("SELECT value FROM t ORDER BY value").all { $0.text(0) } == [
                "a", "a\u{0}a", "a\u{0}b",
            ]
        )
    }

    @Test("A value that a reader takes for damage ends the read with an error, and the statement goes on")
    func damage() throws {
        let connection = try memory()
        for number in 1...3 { try connection.insert(.integer(Int64(number))) }
        let statement = try connection.prepare("SELECT value FROM t ORDER BY value")
        func read(_ row: Row) -> Int64 {
            if row.int64(0) == 2 { row.noteDamage() }
            return row.int64(0)
        }
        let error = #expect(throws: SQLiteError.self) { try statement.all(read) }
        #expect(error?.code == .corrupt)
        #expect(throws: SQLiteError.self) { try statement.first { $0.noteDamage() } }
        #expect(try statement.all { $0.int64(0) } == [1, 2, 3])
    }

    @Test(
        "A count is never below zero nor beyond what can be added to",
        arguments: [(Int64.min, 0), (-1, 0), (0, 0), (7, 7), (.max, 2_147_483_647)]
    )
    func count(_ stored: Int64, _ count: Int) throws {
        let connection = try memory()
        try connection.insert(.integer(stored))
        #expect(try connection.prepare("SELECT value FROM t").first { $0.count(0) } == count)
    }

    @Test("A blob and a text of many megabytes come back whole")
    func big() throws {
        let connection = try memory()
        let blob = [UInt8](unsafeUninitializedCapacity: 20_000_000) { buffer, count in
            for index in buffer.indices { buffer[index] = UInt8(truncatingIfNeeded: index &* 31) }
            count = buffer.count
        }
        let text = String(repeating: "é", count: 5_000_000)
        try connection.insert(.blob(blob))
        try connection.insert(.text(text))
        #expect(try connection.values() == [.blob(blob), .text(text)])
    }

    @Test("NULL reads as zero, as no text and as nothing")
    func null() throws {
        let statement = try memory().prepare("SELECT NULL")
        #expect(try statement.first { $0.int64(0) } == 0)
        #expect(try statement.first { $0.text(0) } == "")
        #expect(try statement.first { $0.optionalText(0) == nil && $0.optionalInt64(0) == nil } == true)
    }

    @Test("Bytes that are no UTF-8 are read as replacement characters")
    func invalidText() throws {
        let statement = try memory().prepare("SELECT CAST(x'61ff62' AS TEXT)")
        #expect(try statement.first { $0.text(0) } == "a\u{FFFD}b")
    }

    @Test("A statement can be used again after an error")
    func resetAfterError() throws {
        let connection = try memory()
        try connection.execute("CREATE UNIQUE INDEX u ON t (value)")
        let insert = try connection.cached("INSERT INTO t (value) VALUES (?1)")
        try insert.bind(1, 1).run()
        #expect(sqliteError { try insert.bind(1, 1).run() }?.code == .constraintUnique)
        // Binding to a statement that was not reset would be a misuse.
        try insert.bind(1, 2).run()
        #expect(try connection.values() == [.integer(1), .integer(2)])
    }

    @Test("Reading the first row, or whether there is one, leaves nothing open")
    func resetAfterFirst() throws {
        let connection = try memory()
        for number in 1...3 { try connection.insert(.integer(Int64(number))) }
        let select = try connection.cached("SELECT value FROM t")
        #expect(try select.first { $0.int(0) } == 1)
        #expect(try select.hasRow())
        // A statement that still reads would keep the table locked.
        try connection.execute("DROP TABLE t")
        #expect(sqliteError { try select.hasRow() }?.code.primary == .error)
    }

    @Test("A run counts the rows that it changed itself")
    func changes() throws {
        let connection = try memory()
        for number in 1...3 { try connection.insert(.integer(Int64(number))) }
        #expect(try connection.prepare("UPDATE t SET value = 9 WHERE value > 1").run() == 2)
        #expect(try connection.prepare("DELETE FROM t WHERE value = 7").run() == 0)
        #expect(try connection.prepare("DELETE FROM t RETURNING id").run() == 3)
        #expect(connection.totalChanges == 8)
    }

    @Test("A text without a statement, and a parameter that is not there, are errors")
    func misuse() throws {
        let connection = try memory()
        #expect(sqliteError { try connection.prepare(" -- nothing") }?.code == .misuse)
        let error = sqliteError { try connection.prepare("SELECT ?1").bind(2, 1) }
        #expect(error?.code.rawValue == 25)
    }

    @Test("A cached statement is prepared once, any other each time")
    func cache() throws {
        let connection = try memory()
        #expect(try connection.cached("SELECT 1") === connection.cached("SELECT 1"))
        #expect(try connection.prepare("SELECT 1") !== connection.prepare("SELECT 1"))
    }
}
