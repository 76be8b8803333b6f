import TestSupport
import Testing

@Suite("Sizes of SQL", .watched)
struct MigrationSizeTests {
    /// A function, a trigger, a view or a block of a file of SQL.
    private struct Routine: Equatable {
        var name: String
        var line: Int
        var length: Int
    }

    private static let maximumLines = 80
    private static let maximumColumns = 120
    private static let headers = ["FUNCTION", "PROCEDURE", "TRIGGER", "VIEW"].flatMap {
        ["CREATE \($0) ", "CREATE OR REPLACE \($0) "]
    }

    @Test("No function, trigger, view or block of SQL has more than 80 lines")
    func routines() throws {
        let files = try Self.files(below: "Migrations/")
        #expect(files.flatMap { Self.routines(in: $0.lines) }.count > 180)
        expectNone(files.flatMap { Self.longRoutines(path: $0.path, lines: $0.lines) })
    }

    @Test("No line of SQL has more than 120 columns, except for the text of an error")
    func lines() throws {
        expectNone(try Self.files(below: "Migrations/").flatMap(Self.longLines))
        let text = "    'x\(String(repeating: "x", count: 120))"
        let lines: [Substring] = ["\(text)')", "\(text)',", "\(text)') AS a"]
        #expect(Self.longLines(path: "a.sql", lines: lines).map(\.line) == [2, 3])
    }

    @Test("Functions, triggers, views and blocks are found from their first line to their last")
    func findsRoutines() {
        let sql = """
            CREATE TABLE a (b bigint);
            -- CREATE FUNCTION in a comment
            CREATE FUNCTION one(a text DEFAULT ';') RETURNS boolean
            LANGUAGE sql IMMUTABLE
            RETURN a IS NULL;

            CREATE FUNCTION two()
            RETURNS void LANGUAGE sql
            BEGIN ATOMIC
                SELECT 1;
                SELECT 2;
            END;
            CREATE OR REPLACE FUNCTION three() RETURNS void LANGUAGE plpgsql AS $$
            BEGIN
                PERFORM 1;
            END
            $$;
            CREATE TRIGGER four INSTEAD OF INSERT ON a
                FOR EACH ROW EXECUTE FUNCTION two();
            CREATE TRIGGER five INSTEAD OF INSERT ON a
            BEGIN
                SELECT 1;
            END;
            CREATE FUNCTION six() RETURNS bigint LANGUAGE sql AS 'SELECT 1';
            CREATE VIEW seven AS
            -- A comment;
            SELECT 1;
            DO $$
            BEGIN
            END
            $$;
            """
        let found = Self.routines(in: sql.split(separator: "\n", omittingEmptySubsequences: false))
        #expect(found.map(\.name) == ["one", "two", "three", "four", "five", "six", "seven", "DO"])
        #expect(found.map(\.line) == [3, 7, 13, 18, 20, 24, 25, 28])
        #expect(found.map(\.length) == [3, 6, 5, 2, 4, 1, 3, 4])
    }

    @Test("A function of 81 lines is reported, one of 80 is not")
    func findsLongRoutines() {
        func lines(_ count: Int) -> [Substring] {
            let body = String(repeating: "    PERFORM 1;\n", count: count - 4)
            let text = "CREATE FUNCTION a() RETURNS void AS $$\nBEGIN\n\(body)END\n$$;"
            return text.split(separator: "\n")
        }
        #expect(Self.longRoutines(path: "a.sql", lines: lines(80)).isEmpty)
        let found = Self.longRoutines(path: "a.sql", lines: lines(81)).map(\.description)
        #expect(found == ["a.sql:1: a has 81 lines, 80 at most"])
    }

    private static func files(below folder: String) throws -> [(path: String, lines: [Substring])] {
        try Repository.current.files
            .filter { $0.hasPrefix(folder) && $0.hasSuffix(".sql") }
            .map { path in
                let text = String(decoding: try Repository.current.data(of: path), as: UTF8.self)
                return (path, text.split(separator: "\n", omittingEmptySubsequences: false))
            }
    }

    private static func longRoutines(path: String, lines: [Substring]) -> [Violation] {
        routines(in: lines)
            .filter { $0.length > maximumLines }
            .map { routine in
                let message = "\(routine.name) has \(routine.length) lines, \(maximumLines) at most"
                return Violation(path: path, line: routine.line, message: message)
            }
    }

    /// The text of a RAISE is one literal, which cannot be broken: it may have a line of its own.
    private static func longLines(path: String, lines: [Substring]) -> [Violation] {
        lines.enumerated().compactMap { index, line in
            guard line.count > maximumColumns, line.wholeMatch(of: #/ *'[^']*'\)/#) == nil else { return nil }
            let message = "the line has \(line.count) columns, \(maximumColumns) at most"
            return Violation(path: path, line: index + 1, message: message)
        }
    }

    /// The routines of a file, whose first words are in the first column.
    private static func routines(in lines: [Substring]) -> [Routine] {
        var found: [Routine] = []
        var next = 0
        while next < lines.count {
            let first = next
            next += 1
            guard let name = name(of: lines[first]) else { continue }
            let last = lastLine(of: lines, from: first)
            found.append(Routine(name: name, line: first + 1, length: last - first + 1))
            next = last + 1
        }
        return found
    }

    private static func name(of line: Substring) -> String? {
        if line.hasPrefix("DO $$") { return "DO" }
        guard let header = headers.first(where: { line.hasPrefix($0) }) else { return nil }
        return String(line.dropFirst(header.count).prefix { $0.isLetter || $0.isNumber || $0 == "_" })
    }

    /// The end of a body: of a text between `$$`, or of statements between BEGIN and END.
    ///
    /// Without a body, it is the first line that ends in a semicolon.
    private static func lastLine(of lines: [Substring], from first: Int) -> Int {
        var end: Substring?
        for index in first..<lines.count {
            let line = lines[index]
            if let end {
                if line == end { return index }
            } else if line.hasSuffix("$$") {
                end = "$$;"
            } else if line == "BEGIN" || line == "BEGIN ATOMIC" {
                end = "END;"
            } else if line.hasSuffix(";"), !line.drop(while: { $0 == " " }).hasPrefix("--") {
                return index
            }
        }
        return lines.count - 1
    }
}
