@testable import EngineSupport
@testable import Sluice

/// What a disk may hold after loss of power: all that was synced, and any part of the rest, in any order.
///
/// So it is with names: a file that was made is there, and one that was removed is gone, for certain only
/// behind a sync of their directory. SQLite makes one with the first sync of a log or a journal that is new
/// (`UNIXFILE_DIRSYNC` in its `os_unix.c`).
struct LossyDisk {
    /// What becomes of the changes that were not synced.
    enum Loss: CaseIterable {
        /// All are lost.
        case all
        /// All had reached the disk.
        case none
        /// Those behind some point are lost, the one in the middle torn.
        case tail
        /// Each is kept, lost or torn, whatever became of the others.
        case some
    }

    fileprivate enum Change {
        case written(offset: Int, bytes: [UInt8])
        case truncated(size: Int)
    }

    fileprivate struct File {
        var synced: [UInt8] = []
        var changes: [Change] = []
        /// How many changes there were when each sync began that is under way.
        var syncs: [Int] = []
        /// Its first sync is one of the directory, too.
        var syncsDirectory: Bool
        /// Its name is on the disk.
        var isNamed = false
        var isDeleted = false
        /// What stood under its name, and may again.
        var before: [UInt8]?
    }

    /// Disks write so many bytes or none of them.
    fileprivate static let sector = 512

    private var files: [String: File] = [:]
    /// Whether it says that it has synced, and has not.
    private let lies: Bool

    init(lies: Bool = false) { self.lies = lies }

    mutating func apply(_ entry: PowerJournal.Entry) {
        switch entry {
        case .opened(let path):
            let file = files[path]
            guard file == nil || file?.isDeleted == true else { return }
            files[path] = File(
                before: file.flatMap { $0.isNamed ? $0.synced : $0.before },
                syncsDirectory: path.hasSuffix("-wal") || path.hasSuffix("-journal")
            )
        case .written(let path, let offset, let bytes):
            files[path]?.changes.append(.written(offset: offset, bytes: bytes))
        case .truncated(let path, let size):
            files[path]?.changes.append(.truncated(size: size))
        case .syncBegan(let path):
            let count = files[path]?.changes.count ?? 0
            files[path]?.syncs.append(count)
        case .synced(let path):
            if !lies { files[path]?.finishSync() }
            if files[path]?.syncsDirectory == true {
                files[path]?.syncsDirectory = false
                syncDirectory()
            }
        case .deleted(let path, let isSynced):
            files[path]?.isDeleted = true
            if isSynced { syncDirectory() }
        case .promised:
            return
        }
    }

    private mutating func syncDirectory() {
        files = files.filter { !$0.value.isDeleted }
        for path in files.keys {
            files[path]?.isNamed = true
            files[path]?.before = nil
        }
    }

    /// The files after loss of power at this moment, by path.
    func contents(after loss: Loss, using random: inout some RandomNumberGenerator) -> [String: [UInt8]] {
        var contents: [String: [UInt8]] = [:]
        // In one order, so that a seed tells the same each time.
        for (path, file) in files.sorted(by: { $0.key < $1.key }) {
            contents[path] = file.content(after: loss, using: &random)
        }
        return contents
    }
}

extension LossyDisk.File {
    init(before: [UInt8]?, syncsDirectory: Bool) {
        self.before = before
        self.syncsDirectory = syncsDirectory
    }

    mutating func finishSync() {
        // Of two that are under way the one that ends first may be the one that began first.
        let count = syncs.isEmpty ? 0 : syncs.removeFirst()
        for change in changes.prefix(count) { change.apply(to: &synced) { _ in true } }
        changes.removeFirst(count)
        syncs = syncs.map { $0 - count }
    }

    func content(
        after loss: LossyDisk.Loss,
        using random: inout some RandomNumberGenerator
    ) -> [UInt8]? {
        let isThere =
            switch (loss, isNamed, isDeleted) {
            case (_, true, false): true
            case (.all, _, _): isNamed
            case (.none, _, _): !isDeleted
            case (.tail, _, _), (.some, _, _): Bool.random(using: &random)
            }
        guard isThere else { return loss == .none || isNamed ? nil : before }
        var bytes = synced
        let end = Int.random(in: 0...changes.count, using: &random)
        for (index, change) in changes.enumerated() {
            switch loss {
            case .all: break
            case .none: change.apply(to: &bytes) { _ in true }
            case .tail where index < end: change.apply(to: &bytes) { _ in true }
            case .tail where index > end: break
            case .tail, .some: change.tear(into: &bytes, using: &random)
            }
        }
        return bytes
    }
}

extension LossyDisk.Change {
    /// - Parameter keeps: Whether a sector of it has reached the disk, by its number within the change.
    func apply(to file: inout [UInt8], keeps: (Int) -> Bool) {
        switch self {
        case .truncated(let size):
            guard keeps(0) else { return }
            if size < file.count { file.removeLast(file.count - size) } else { file.fill(to: size) }
        case .written(let offset, let bytes):
            var start = 0
            while start < bytes.count {
                // Sectors are those of the file.
                let end = min(bytes.count, start + LossyDisk.sector - (offset + start) % LossyDisk.sector)
                if keeps(start / LossyDisk.sector) {
                    file.fill(to: offset + end)
                    file.replaceSubrange(offset + start..<offset + end, with: bytes[start..<end])
                }
                start = end
            }
        }
    }

    /// Keeps all of it, nothing, its beginning, or any of its sectors.
    func tear(into file: inout [UInt8], using random: inout some RandomNumberGenerator) {
        var generator = SplitMix(seed: random.next())
        let cut = Int.random(in: 0...16, using: &generator)
        switch Int.random(in: 0..<4, using: &generator) {
        case 0: apply(to: &file) { _ in true }
        case 1: break
        case 2: apply(to: &file) { $0 < cut }
        default: apply(to: &file) { _ in Bool.random(using: &generator) }
        }
    }
}

extension [UInt8] {
    /// What was never written reads as zeros.
    fileprivate mutating func fill(to size: Int) {
        if count < size { append(contentsOf: repeatElement(0, count: size - count)) }
    }
}
