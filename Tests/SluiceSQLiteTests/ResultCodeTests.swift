import SluiceSQLite
import TestSupport
import Testing

@Suite("Result codes", .watched)
struct ResultCodeTests {
    private static func name(_ code: ResultCode) -> String {
        switch code {
        case .ioErrorSync: "sync"
        case .ioError: "io"
        case .constraintUnique: "unique"
        case .constraint: "constraint"
        case .busy: "busy"
        default: "other"
        }
    }

    @Test("A primary code as a pattern matches its extended codes, an extended one itself alone")
    func patterns() {
        #expect(Self.name(.ioErrorSync) == "sync")
        #expect(Self.name(.ioErrorDirectorySync) == "io")
        #expect(Self.name(.ioError) == "io")
        #expect(Self.name(.constraintTrigger) == "constraint")
        #expect(Self.name(ResultCode(rawValue: 5 | 2 << 8)) == "busy")
        #expect(Self.name(.readOnly) == "other")
    }

    @Test("Codes that differ in their extension are not equal")
    func equality() {
        #expect(ResultCode.ioErrorSync != .ioError)
        #expect(ResultCode.ioErrorSync.primary == .ioError)
        #expect(ResultCode.ioError.primary == .ioError)
    }

    @Test("A code describes itself in SQLite's words, with its number")
    func description() {
        #expect(ResultCode.busy.description == "database is locked (5)")
    }

    @Test("Errors carry extended codes")
    func extended() throws {
        let connection = try memory()
        try connection.execute("CREATE UNIQUE INDEX u ON t (value)")
        try connection.insert(.integer(1))
        #expect(sqliteError { try connection.insert(.integer(1)) }?.code == .constraintUnique)
        try connection.execute(
            "CREATE TRIGGER r BEFORE INSERT ON t BEGIN SELECT RAISE(ABORT, 'no more'); END"
        )
        let error = sqliteError { try connection.insert(.integer(2)) }
        #expect(error?.code == .constraintTrigger)
        #expect(error?.message == "no more")
    }
}
