import Foundation
import SluiceSQLite
import SluiceTestKit
import TestSupport
import Testing

@testable import Sluice

/// A file and the log that a process has left beside it.
struct LeftWAL {
    static let headerSize = 32
    static let frameSize = 24 + FullFile.pageSize
    private static let commitCount = 12

    let file: FullFile
    let bytes: [UInt8]
    let log: [UInt8]
    let index: [UInt8]
    /// The actions that were enqueued, a commit each, and how long the log was then.
    let commits: [(action: ActionID, end: Int)]

    var enqueued: Set<ActionID> { Set(commits.map(\.action)) }
    var frameCount: Int { (log.count - Self.headerSize) / Self.frameSize }

    enum Damage: CustomStringConvertible {
        case none
        case cut(to: Int)
        case flipped(at: Int, by: UInt8)
        case index(UInt64)

        /// Where it begins.
        var offset: Int {
            switch self {
            case .none, .index: .max
            case .cut(let count): count
            case .flipped(let offset, _): offset
            }
        }

        var description: String {
            switch self {
            case .none: "an untouched log"
            case .cut(let count): "the log cut to \(count) bytes"
            case .flipped(let offset, let mask): "byte \(offset) of the log changed by \(mask)"
            case .index(let seed): "an index of random bytes from \(seed)"
            }
        }
    }

    static func make() async throws -> LeftWAL {
        let file = try await FullFile.make()
        let place = try FullFile.write(file.bytes)
        let path = place.path
        var options = BrokerOptions.on(ManualClock())
        options.file.durability = .relaxed
        options.file.hasResetBug = false
        let broker = try await Broker(file: path, options: options)
        var commits: [(ActionID, Int)] = []
        for number in 0..<commitCount {
            let text = "\(number) " + String(repeating: "z", count: 40 * number)
            let receipt = try await broker.enqueue(Note(text, in: QueueName("log/\(number % 3)")))
            commits.append((receipt.id, try #require(DatabaseFile.byteCount(of: path + "-wal"))))
        }
        func bytes(_ suffix: String) throws -> [UInt8] {
            [UInt8](try Data(contentsOf: URL(fileURLWithPath: path + suffix)))
        }
        let index = try bytes("-shm")
        // It leaves the log to the next opening.
        await broker.file?.suspend()
        let left = LeftWAL(
            file: file,
            bytes: try bytes(""),
            log: try bytes("-wal"),
            index: index,
            commits: commits
        )
        await broker.close()
        try #require(left.log.count == commits.last?.1 && left.frameCount > 2 * commitCount)
        return left
    }

    /// What could be done to it: cut at every frame and amid it, a byte of each part of each frame changed.
    func damages(using random: inout some RandomNumberGenerator) -> [Damage] {
        func flip(_ range: Range<Int>) -> Damage {
            .flipped(at: Int.random(in: range, using: &random), by: UInt8.random(in: 1...255, using: &random))
        }
        var all: [Damage] = [.none, .cut(to: 0), .cut(to: 1), .index(random.next()), .index(random.next())]
        for offset in 0..<Self.headerSize { all.append(flip(offset..<offset + 1)) }
        for frame in 0..<frameCount {
            let start = Self.headerSize + frame * Self.frameSize
            all += [.cut(to: start), .cut(to: start + Int.random(in: 1..<Self.frameSize, using: &random))]
            all += [flip(start..<start + 24), flip(start + 24..<start + Self.frameSize)]
        }
        return all
    }

    func commits(before damage: Damage) -> [ActionID] {
        commits.filter { $0.end <= damage.offset }.map(\.action)
    }

    func write(_ damage: Damage) throws -> TemporaryFile {
        let place = try FullFile.write(bytes)
        var (log, index) = (log, index)
        switch damage {
        case .none: break
        case .cut(let count): log.removeSubrange(count...)
        case .flipped(let offset, let mask): log[offset] ^= mask
        case .index(let seed):
            var random = SplitMix(seed: seed)
            index = index.map { _ in UInt8.random(in: .min ... .max, using: &random) }
        }
        try Data(log).write(to: URL(fileURLWithPath: place.path + "-wal"))
        try Data(index).write(to: URL(fileURLWithPath: place.path + "-shm"))
        return place
    }
}
