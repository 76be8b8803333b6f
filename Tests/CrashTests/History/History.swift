#if CommandLineTool
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
        /// Its number in its process.
        var number: Int
        var queue: String
        /// The action, as the input numbers it.
        var line: Int
        /// The action, as the file numbers it.
        var id: Int64
        var claim: Int64
        var start: Int64
        /// `nil`: the process died before.
        var end: Int64?
        /// `success`, `retry`, `cancelled`, `stale` if its own transaction was refused, or `unknown` if it is
        /// not known whether that was committed.
        var outcome: String?

        /// As what its process ran the queues: one that was taken for dead begins anew with another.
        var epoch: Int64 { claim >> 32 }
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

    /// What a handler has written in the transaction that settled its run.
    struct Effect: Hashable {
        var line: Int
        var process: Process
        /// The run's number in the process.
        var run: Int
    }

    var runs: [Run] = []
    var enqueues: [Enqueue] = []
    /// When a process was killed: just before the call.
    var kills: [Process: Int64] = [:]
    /// The last time that a process has written down anything: between its kill's call and its end it may
    /// have gone on.
    var lastSigns: [Process: Int64] = [:]
    /// When actions, by the file's numbers, were told to have succeeded: behind the commit.
    var successes: [Int64: Int64] = [:]
    var freezes: [Freeze] = []
    /// Times for which a process was cut off from its server: it knows of it, and its handlers are cancelled.
    var cuts: [Freeze] = []
    /// Times for which no process could reach the server: it was killed, and started again.
    var outages: [Freeze] = []
    /// The lines of each queue that must have been run, in the order in which they were sent.
    var lines: [String: [Int]] = [:]
    /// What stands in the file, in the order of the commits.
    var effects: [Effect] = []
    /// The lines whose handlers write an effect when they succeed; the others write none.
    var linesWithEffect: Set<Int> = []
    /// The actions of the messages that the application has stored together with their actions, as its rows
    /// have them.
    var messages: [Int: Int64] = [:]
    /// The lines that it stores so.
    var linesWithMessage: Set<Int> = []

    /// Adds the history of a process, as it has written it.
    mutating func read(_ text: String, of process: Process) throws {
        var open: [String: Int] = [:]
        for line in text.split(separator: "\n") {
            let fields = line.split(separator: "\t").map(String.init)
            guard fields.count >= 4, let time = Int64(fields[1]), let number = Int(fields[3]) else {
                throw HistoryError.malformed("\(line)")
            }
            lastSigns[process] = max(lastSigns[process] ?? time, time)
            switch (fields[0], fields.count) {
            case ("C", 4): successes[Int64(number)] = min(successes[Int64(number)] ?? time, time)
            case ("e", 4): break
            case ("E", 5):
                guard let id = Int64(fields[4]) else { throw HistoryError.malformed("\(line)") }
                enqueues.append(Enqueue(line: number, id: id, time: time))
            case ("S", 7):
                guard let id = Int64(fields[4]), let run = Int(fields[5]), let claim = Int64(fields[6]) else {
                    throw HistoryError.malformed("\(line)")
                }
                open[fields[5]] = runs.count
                runs.append(
                    Run(
                        process: process,
                        number: run,
                        queue: fields[2],
                        line: number,
                        id: id,
                        claim: claim,
                        start: time
                    )
                )
            case ("F", 6):
                guard let index = open.removeValue(forKey: fields[4]) else {
                    throw HistoryError.malformed("an end without a start: \(line)")
                }
                runs[index].end = time
                runs[index].outcome = fields[5]
            default: throw HistoryError.malformed("\(line)")
            }
        }
    }
}

enum HistoryError: Error { case malformed(String) }
#endif
