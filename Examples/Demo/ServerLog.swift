#if CommandLineTool
import Foundation

/// One line of the server's log: a request, and what became of it.
struct LogEntry: Codable, Hashable {
    enum Event: String, Codable {
        /// Stored: the recipients see it.
        case delivered
        /// Known by its idempotency key, so not stored again; answered as if it were new.
        case recognised
        case refused
        /// Lost on the way. A real server would not know; this one plays the network too.
        case lost
        /// Arrived during the outage.
        case unreachable
    }

    /// Which of the worker processes sent it.
    var worker: Int
    var conversation: String
    var number: Int
    /// The attempt's number as Sluice counts it.
    var attempt: Int
    var key: String
    var text: String
    var event: Event
    /// Whether the answer to it got lost.
    var isAnswerLost = false

    var message: SendMessage.Name { SendMessage.Name(conversation: conversation, number: number) }
}

/// The server's disk: a file to which lines are only added.
struct ServerLog {
    private let file: FileHandle

    /// Opens a log that exists.
    init(path: String) throws {
        file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
    }

    /// Everything that earlier workers have left, so that the server knows their messages.
    func entries() throws -> [LogEntry] {
        var reader = try LogReader(file: file)
        return try reader.next()
    }

    /// Adds a line, in one write: a kill before it leaves nothing, one after it leaves all.
    func append(_ entry: LogEntry) throws {
        try file.seekToEnd()
        try file.write(contentsOf: JSONEncoder().encode(entry) + Data("\n".utf8))
    }
}

/// Reads what has been added to the log since the last look.
struct LogReader {
    private let file: FileHandle
    private var offset: UInt64 = 0

    init(path: String) throws {
        try self.init(file: FileHandle(forReadingFrom: URL(fileURLWithPath: path)))
    }

    fileprivate init(file: FileHandle) throws {
        self.file = file
    }

    mutating func next() throws -> [LogEntry] {
        try file.seek(toOffset: offset)
        let data = try file.readToEnd() ?? Data()
        // A line without its end is still being written: it is left to the next look.
        guard let end = data.lastIndex(of: UInt8(ascii: "\n")) else { return [] }
        offset += UInt64(data.distance(from: data.startIndex, to: end) + 1)
        return try data[..<end].split(separator: UInt8(ascii: "\n")).map {
            try JSONDecoder().decode(LogEntry.self, from: Data($0))
        }
    }
}
#endif
