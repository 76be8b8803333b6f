import ArgumentParser
import Foundation
import SluiceJSON
import SluiceSQLite

@testable import Sluice
@testable import SluiceCLI

/// What is fed with inputs that nobody has thought of.
enum FuzzTarget: String, CaseIterable {
    /// Lines of `import` and `enqueue --from`.
    case lines
    /// JSON: our grammar, our reader, SQLite's grammar and Foundation's reader must agree.
    case json
    /// The tool's arguments.
    case arguments
    /// What handlers answer, elements of arrays in pieces, dates and spans.
    case answers
    /// Rows of a file whose schema lets everything in.
    case rows

    func take(_ bytes: [UInt8]) {
        switch self {
        case .lines: LineTarget.take(bytes)
        case .json: JSONTarget.take(bytes)
        case .arguments: ArgumentTarget.take(bytes)
        case .answers: AnswerTarget.take(bytes)
        case .rows: RowTarget.take(bytes)
        }
    }
}

/// Ends the run with the input as a finding, where a promise is broken.
func expect(_ condition: Bool, _ message: @autoclosure () -> String) {
    guard !condition else { return }
    FileHandle.standardError.write(Data("Fuzz: \(message())\n".utf8))
    abort()
}

enum LineTarget {
    static func take(_ bytes: [UInt8]) {
        if let action = try? TransferLine.action(bytes) {
            // What was read is written so that it reads back as the same.
            let text = TransferLine.text(action)
            do {
                let again = try TransferLine.action(Array(text.utf8))
                expect(again.map(TransferLine.text) == text, "a line does not come back: \(text)")
                expect(!text.contains("\n"), "an export of several lines: \(text)")
            } catch {
                expect(isBeyondLimits(action), "an export is refused, \(error): \(text)")
            }
            expect(JSONGrammar.accepts(action.payload), "a payload is no JSON: \(action.payload)")
        }
        for sort in [nil, "n"] as [String?] {
            let plan = LinePlan(
                queue: sort == nil ? .fixed("q") : .field("q"),
                queuePrefix: "p/",
                kind: "k",
                version: 1,
                sortFields: sort.map { [$0] } ?? [],
                sortType: .auto
            )
            _ = try? plan.action(bytes)
        }
        split(bytes)
    }

    /// A key that is a number beyond the largest comes back as text, as it says.
    private static func isBeyondLimits(_ action: TransferredAction) -> Bool {
        if case .real(let value) = action.sortKey.value { return value.isNaN }
        return false
    }

    /// However the bytes come in pieces, the lines are the same.
    private static func split(_ bytes: [UInt8]) {
        func lines(_ step: Int) -> [LineSplitter.Line] {
            var splitter = LineSplitter(maximumByteCount: 40)
            var lines: [LineSplitter.Line] = []
            for start in stride(from: 0, to: bytes.count, by: step) {
                bytes[start..<min(start + step, bytes.count)].withUnsafeBytes { piece in
                    splitter.take(piece) { lines.append($0) }
                }
            }
            if let last = splitter.takeLast() { lines.append(last) }
            return lines
        }
        expect(lines(1) == lines(max(bytes.count, 1)) && lines(7) == lines(1), "lines depend on their pieces")
    }
}

enum JSONTarget {
    /// A value of every sort that our own reader knows.
    private struct Everything: Codable, Equatable {
        var text: String?
        var integer: Int?
        var real: Double?
        var flag: Bool?
        var list: [Int8]?
        var map: [String: String]?
        var inner: [Everything]?
    }

    // libFuzzer calls on one thread.
    private nonisolated(unsafe) static let connection = try? Connection(path: ":memory:", mode: .create)

    static func take(_ bytes: [UInt8]) {
        guard let text = String(validating: bytes, as: UTF8.self) else { return }
        let isAccepted = JSONGrammar.accepts(text)
        if isAccepted { expect(isValidForSQLite(text), "SQLite does not take what we do: \(text)") }
        let judged = try? JSONDecoder().decode(Everything.self, from: Data(bytes))
        if let own = try? JSONTape.decode(Everything.self, from: text) {
            expect(own == judged, "read as \(own), by Foundation as \(String(describing: judged)): \(text)")
            expect(isAccepted, "read and not accepted: \(text)")
        }
        if isAccepted {
            _ = try? JSONMembers(text)
            _ = JSONText.onOneLine(text)
        }
        if let judged, let written = JSONWriter.text(of: judged) {
            let again = try? JSONDecoder().decode(Everything.self, from: Data(written.utf8))
            expect(again == judged, "written as \(written)")
            expect(JSONGrammar.accepts(written), "written and not accepted: \(written)")
        }
        _ = SealedPayload(text)
    }

    /// A text with a NUL in it ends there for SQLite, and none of ours has one.
    private static func isValidForSQLite(_ text: String) -> Bool {
        guard let connection, !text.utf8.contains(0) else { return true }
        return (try? connection.cached("SELECT json_valid(?1)").bind(1, text).first { $0.bool(0) }) == true
    }
}

enum ArgumentTarget {
    static func take(_ bytes: [UInt8]) {
        let words = bytes.split(separator: 0, omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        // The way to a script for a shell runs programs to ask for it.
        guard !words.contains(where: { $0.contains("completion") }) else { return }
        do {
            let command = try SluiceCommand.parseAsRoot(words)
            _ = "\(type(of: command))"
        } catch {
            let text = SluiceCommand.fullMessage(for: error)
            let lines = text.split(separator: "\n").map { Visible.text(String($0)) }
            expect(!lines.contains { $0.unicodeScalars.contains("\u{1B}") }, "an escape is shown: \(lines)")
        }
        for word in words.prefix(4) {
            _ = DateTime(word).map { Times.text(Timestamp(microseconds: $0.microseconds)) }
            _ = Span(argument: word)
            _ = try? QueuePattern(word).form()
            for type in SortType.allCases { _ = try? type.key(fromWord: word) }
        }
    }
}

enum AnswerTarget {
    static func take(_ bytes: [UInt8]) {
        if let answer = try? PipeProtocol.answer(bytes) {
            _ = answer.result
            _ = answer.hasKnownOutcome
        }
        func elements(_ step: Int) -> [ElementSplitter.Element] {
            var splitter = ElementSplitter(maximumByteCount: 40)
            var elements: [ElementSplitter.Element] = []
            for start in stride(from: 0, to: bytes.count, by: step) {
                bytes[start..<min(start + step, bytes.count)].withUnsafeBytes { piece in
                    splitter.take(piece) { elements.append($0) }
                }
            }
            return elements + splitter.last()
        }
        expect(elements(1) == elements(max(bytes.count, 1)), "elements depend on their pieces")
        let text = String(decoding: bytes, as: UTF8.self)
        let shown = Visible.text(text)
        expect(!shown.unicodeScalars.contains(where: Visible.isUnseen), "shown: \(shown.debugDescription)")
        _ = Visible.beginning(of: text, count: 10)
        let quoted = JSONText.string(text)
        expect(JSONGrammar.accepts(quoted), "no JSON: \(quoted)")
        let back = try? JSONDecoder().decode(String.self, from: Data(quoted.utf8))
        expect(back.map { Array($0.utf8) } == Array(text.utf8), "a text does not come back: \(quoted)")
        for number in bytes.prefix(32).withUnsafeBytes({ Array($0.bindMemory(to: Int64.self)) }) {
            _ = Times.text(Timestamp(microseconds: number))
            _ = Timestamp(microseconds: number).iso8601
        }
    }
}
