import Foundation

/// What several processes have written down of themselves, and what was done to them.
///
/// Times are those since the start of the machine, in nanoseconds, which all processes share.
struct History {
    /// One life of one process, as the folder of histories names it.
    typealias Process = String

    /// The run of a handler.
    struct Run: Hashable {
        var process: Process
        var queue: String
        /// The action, as the input numbers it.
        var line: Int
        /// The action, as the file numbers it.
        var id: Int64
        var start: Int64
        /// `nil`: the process died before.
        var end: Int64?
        /// `success`, `retry` or `cancelled`.
        var outcome: String?
    }

    /// An enqueue that has returned.
    struct Enqueue: Hashable {
        var line: Int
        var id: Int64
        var time: Int64
    }

    /// A time for which a process was stopped: the call before that, and the call that let it go on.
    struct Freeze: Hashable {
        var process: Process
        var from: Int64
        var to: Int64
    }

    var runs: [Run] = []
    var enqueues: [Enqueue] = []
    /// When a process was killed: just before the call.
    var kills: [Process: Int64] = [:]
    var freezes: [Freeze] = []
    /// The lines of each queue that must have been run, in the order in which they were sent.
    var lines: [String: [Int]] = [:]
    /// How often the effect of each line stands in the file, where its handler writes one in the transaction
    /// that settles it; `nil`: none does.
    var effects: [Int: Int]?

    /// Adds the history of a process, as it has written it.
    mutating func read(_ text: String, of process: Process) throws {
        var open: [String: Int] = [:]
        for line in text.split(separator: "\n") {
            let fields = line.split(separator: "\t").map(String.init)
            guard fields.count >= 4, let time = Int64(fields[1]), let number = Int(fields[3]) else {
                throw HistoryError.malformed("\(line)")
            }
            switch (fields[0], fields.count) {
            case ("e", 4): break
            case ("E", 5):
                guard let id = Int64(fields[4]) else { throw HistoryError.malformed("\(line)") }
                enqueues.append(Enqueue(line: number, id: id, time: time))
            case ("S", 6):
                guard let id = Int64(fields[4]) else { throw HistoryError.malformed("\(line)") }
                open[fields[4] + " " + fields[5]] = runs.count
                runs.append(Run(process: process, queue: fields[2], line: number, id: id, start: time))
            case ("F", 7):
                guard let index = open.removeValue(forKey: fields[4] + " " + fields[5]) else {
                    throw HistoryError.malformed("an end without a start: \(line)")
                }
                runs[index].end = time
                runs[index].outcome = fields[6]
            default: throw HistoryError.malformed("\(line)")
            }
        }
    }
}

enum HistoryError: Error { case malformed(String) }
