#if CommandLineTool && GRDB
import Foundation
import Sluice

/// The rooms and what each waits for: redrawn in place on a terminal, else a line for each change.
struct RoomScreen {
    static var isTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

    private var rooms: [QueueName: QueueStatus] = [:]
    private var told: [QueueName: String] = [:]
    /// How many lines the last picture has.
    private var height = 0

    /// Whether each room that has messages left is one that has stopped.
    var isAllStopped: Bool { rooms.values.allSatisfy { $0.state == .parked } }

    mutating func show(_ update: QueueStatusListUpdate) {
        if update.isSnapshot { rooms = [:] }
        for status in update.states { rooms[status.queue] = status }
        for status in update.gone { rooms[status.queue] = nil }
        if Self.isTerminal {
            draw()
        } else {
            for status in update.states + update.gone { tell(status) }
        }
    }

    private mutating func draw() {
        var lines = rooms.values.sorted { $0.queue < $1.queue }.map { status in
            "\(status.queue)  \(status.depth)  \(Self.words(status))"
        }
        let room = Self.rows - 2
        if lines.count > room { lines[(room - 1)...] = ["… and \(lines.count - room + 1) more rooms"] }
        lines.append("\(rooms.count) rooms, \(rooms.values.reduce(0) { $0 + $1.depth }) left to do")
        // To the first line of the last picture; each line is cleared after its end, and then all below.
        var frame = height > 0 ? "\u{1B}[\(height)A\r" : ""
        for line in lines { frame += line + "\u{1B}[K\n" }
        write(frame + "\u{1B}[J")
        height = lines.count
    }

    private mutating func tell(_ status: QueueStatus) {
        let words = Self.words(status)
        guard told.updateValue(words, forKey: status.queue) != words else { return }
        write("\(status.queue): \(words)\n")
    }

    private func write(_ text: String) { FileHandle.standardOutput.write(Data(text.utf8)) }

    private static var rows: Int {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 4 else { return 24 }
        return Int(size.ws_row)
    }

    private static func words(_ status: QueueStatus) -> String {
        guard let reason = status.because.first else { return "all sent" }
        switch reason {
        case .running, .ready, .permit: return "sending"
        case .parked(_, _, let error, _): return "stopped: \(error)"
        case .held(_, let reason, _): return "waiting: \(reason)"
        case .gate(let gate, let until):
            if gate == "network" { return "waiting: no connection" }
            if gate == "server" { return "waiting: the server asks for patience\(Self.words(until))" }
            return "waiting: log in as \(gate.rawValue.dropFirst("account:".count))"
        case .retry(let date): return "trying again\(Self.words(date)): \(status.lastError ?? "")"
        default: return "\(reason)"
        }
    }

    private static func words(_ date: Date?) -> String {
        date.map { " until \($0.formatted(date: .omitted, time: .standard))" } ?? ""
    }
}
#endif
