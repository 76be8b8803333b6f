#if CommandLineTool
import Foundation
import Testing

/// What workers have written to the log that they have in common.
struct WorkLog {
    struct Line {
        let worker: String
        let isStart: Bool
        let lane: Int
        let id: Int
        let attempt: Int
    }

    let lines: [Line]

    init(_ path: String) throws {
        lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map { line in
            let words = line.split(separator: " ")
            try #require(words.count == 5, "a line of the log is not whole: \(line)")
            return Line(
                worker: String(words[0]),
                isStart: words[1] == "start",
                lane: try #require(Int(words[2])),
                id: try #require(Int(words[3])),
                attempt: try #require(Int(words[4]))
            )
        }
    }

    /// Checks that no two handlers of a lane overlapped, and that each lane ran in order.
    ///
    /// - Parameter lost: The worker that died or froze. What it ran then, another one runs again; of one that
    ///   died no line may follow.
    func check(lost: String, hasDied: Bool) {
        var running: [Int: Line] = [:]
        var abandoned: Set<Int> = []
        var last: [Int: Int] = [:]
        for line in lines {
            guard line.isStart else {
                if let open = running[line.lane], open.worker == line.worker, open.id == line.id {
                    running[line.lane] = nil
                } else {
                    #expect(line.worker == lost && !hasDied && abandoned.contains(line.id), "\(line)")
                }
                continue
            }
            if line.worker == lost, !hasDied, let reached = last[line.lane], line.id < reached {
                // Claimed before the freeze, and begun when it was continued.
                abandoned.insert(line.id)
                continue
            }
            if let open = running[line.lane] {
                #expect(open.worker == lost && line.worker != lost, "\(line) overlaps \(open)")
                // It is the first to run again.
                #expect(open.id == line.id, "\(line) follows \(open)")
                abandoned.insert(open.id)
            }
            #expect(line.id >= last[line.lane] ?? 0, "\(line) follows action \(last[line.lane] ?? 0)")
            last[line.lane] = line.id
            running[line.lane] = line
        }
    }

    /// The actions that ran to their end.
    var ended: Set<Int> { Set(lines.lazy.filter { !$0.isStart }.map(\.id)) }

    /// How many runs of a worker others made again: an attempt that counts has another number.
    func abandoned(by worker: String) -> Int {
        struct Run: Hashable { let id, attempt: Int }
        let own = Set(
            lines.lazy.filter { $0.isStart && $0.worker == worker }.map {
                Run(id: $0.id, attempt: $0.attempt)
            }
        )
        return lines.count {
            $0.isStart && $0.worker != worker && own.contains(Run(id: $0.id, attempt: $0.attempt))
        }
    }

    func ran(_ worker: String) -> Int { lines.count { $0.worker == worker && !$0.isStart } }
}
#endif
