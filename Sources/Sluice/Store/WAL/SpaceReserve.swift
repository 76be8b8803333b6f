#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// Keeps the WAL from taking the space that its own checkpoint needs, on a disk with little room (G12).
///
/// A checkpoint lengthens the database by the pages that only the WAL has. If the WAL has filled the disk, it
/// can never be copied: every write fails, and so does the only way out. So while less than ``ample`` is
/// free, three rules apply:
///
/// 1. The WAL is copied when it has a quarter of the space that it could take, and its file is cut to that.
/// 2. A file next to the database, ``path``, keeps space free. If a checkpoint finds the disk full, the
///   file gives up as much as the checkpoint lacks, which is made again. What that did not use, since a
///   reader held it back, the file takes back at once: other programs would leave nothing for the next one.
///   It has its size again when there is room.
/// 3. A commit is refused whose WAL would need more for its checkpoint than that file has, unless there is
///   room for its pages twice: in the WAL and in the database.
///
/// The database itself is not lengthened ahead of the checkpoint: SQLite does that by writing single bytes,
/// which could hit a page that a checkpoint of another process writes at that moment.
///
/// Confined to the writer's leader.
final class SpaceReserve {
    /// With so many bytes free, nothing is kept: the WAL needs 40 MB, or 160 MB beside another process.
    static let ample = 320 * 1_024 * 1_024
    /// The largest file, in bytes: no WAL needs more while commits are small.
    static let largest = 4 * 1_024 * 1_024
    /// The smallest, in bytes.
    static let smallest = 64 * 1_024
    /// The shortest WAL, in frames, at which it is copied.
    static let leastLimit = 64
    /// Frames that the WAL may grow by until the space is looked at again.
    static let lookFrames = 128
    /// Room, in bytes, for pages that a commit changes without adding any, and for the WAL's index.
    static let margin = 1_024 * 1_024
    /// The beginning of the file: another file of that name is never deleted.
    private static let mark =
        "This file keeps disk space free for Sluice, which deletes it when it needs that.\n"

    let path: String
    private let database: String
    private let walPath: String
    private let freeSpace: @Sendable (String) -> Int?
    private var pageSize = 4_096
    /// Frames of the WAL at which it is copied; `nil` while there is enough space.
    private(set) var walLimit: Int?
    /// The size of the file, 0 if it is missing.
    private(set) var byteCount = 0
    private var lookedAt: Int?
    /// What the file gave for the last checkpoint.
    private var given = 0

    init(_ database: String, walPath: String, freeSpace: @escaping @Sendable (String) -> Int?) {
        (self.database, self.walPath, self.freeSpace) = (database, walPath, freeSpace)
        path = database + "-reserve"
    }

    /// Whether the space was never looked at.
    var isNew: Bool { lookedAt == nil }

    /// Whether the space was not looked at since the WAL was restarted or has grown.
    func isLookDue(at frames: Int) -> Bool {
        guard let lookedAt else { return true }
        return frames < lookedAt || frames - lookedAt >= Self.lookFrames
    }

    /// Looks at the disk; returns whether the limits have changed.
    func look(at frames: Int, pageSize: Int) -> Bool {
        let isFirst = lookedAt == nil
        (lookedAt, self.pageSize) = (frames, pageSize)
        guard let free = freeSpace(database) else { return false }
        let known = walLimit
        guard free < Self.ample else {
            walLimit = nil
            // A process that was killed may have left one.
            if isFirst || known != nil { release() }
            return known != nil
        }
        // What the WAL and the file have is the engine's to divide.
        if isFirst { byteCount = isOwn ? FileFact(path)?.byteCount ?? 0 : 0 }
        let room = free + byteCount + (FileFact(walPath)?.byteCount ?? 0)
        let limit = max(room / 4 / pageSize, Self.leastLimit)
        keep(min(Self.largest, room / 8), free: free)
        // A limit that changes a little is kept.
        if let known, limit <= known, limit >= known * 3 / 4 { return false }
        walLimit = min(limit, CheckpointPolicy.longWAL)
        return walLimit != known
    }

    /// Whether a transaction may be committed that leaves the database with so many pages.
    ///
    /// A quarter of the file is left to those that do not ask: SQL of other programs.
    func mayCommit(pages: Int) -> Bool {
        let missing = missing(ofPages: pages)
        // Another process may have given from the same file. A commit adds some pages of its own to these.
        let kept = min(byteCount, FileFact(path)?.byteCount ?? 0)
        if missing + max(Self.smallest, kept / 4) <= kept { return true }
        return freeSpace(database).map { $0 >= 2 * missing + Self.margin } ?? true
    }

    /// Whether the WAL's file is far longer than the limit: a connection that has no limit has restarted it.
    var isWALTooLong: Bool {
        walLimit.map { 2 * $0 * pageSize < FileFact(walPath)?.byteCount ?? 0 } ?? false
    }

    /// Whether a checkpoint could meet a full disk that leaves the database with so many pages.
    func isShort(ofPages pages: Int) -> Bool {
        walLimit != nil && freeSpace(database).map { $0 < missing(ofPages: pages) + Self.margin } ?? false
    }

    /// Frees as much of the file's space as a checkpoint lacks that leaves the database with so many pages.
    ///
    /// - Returns: Whether there was any to free.
    func give(forPages pages: Int) -> Bool {
        let lacking = max(missing(ofPages: pages) - (freeSpace(database) ?? 0), 0) + Self.smallest
        byteCount = isOwn ? FileFact(path)?.byteCount ?? 0 : 0
        given = min(lacking, byteCount)
        guard byteCount - lacking >= Self.smallest else { return release() }
        guard truncate(path, off_t(byteCount - lacking)) == 0 else { return false }
        byteCount -= lacking
        return true
    }

    /// Gives the file the space again that it gave, as far as that is free.
    func takeBack() {
        let wanted = min(given, freeSpace(database) ?? 0)
        given = 0
        if wanted > 0, !mutant("unused reserve") { lengthen(by: wanted) }
    }

    /// How much more space a database of so many pages takes after a checkpoint.
    ///
    /// Beside a reader a checkpoint passes over pages that it copies later: until then they are holes of the
    /// file, and have a frame in the WAL each.
    private func missing(ofPages pages: Int) -> Int {
        var facts = stat()
        guard stat(database, &facts) == 0 else { return pages * pageSize }
        let holes = max(Int(facts.st_size) - Int(facts.st_blocks) * 512, 0)
        if mutant("holes of a database") { return pages * pageSize - Int(facts.st_size) }
        return pages * pageSize - Int(facts.st_size) + min(holes, FileFact(walPath)?.byteCount ?? 0)
    }

    /// Deletes the file after the last connection has closed, which deletes the WAL; others need it.
    func closed() { if FileFact(walPath) == nil || mutant("reserve of others") { release() } }

    /// Deletes the file, so that its space is free; returns whether there was one.
    @discardableResult
    func release() -> Bool {
        defer { byteCount = 0 }
        return isOwn && unlink(path) == 0
    }

    /// Writes the file in the size wanted, if as much is free again.
    private func keep(_ wanted: Int, free: Int) {
        guard wanted >= Self.smallest, byteCount < wanted / 2, free >= 2 * wanted else { return }
        lengthen(by: wanted - byteCount)
        if byteCount < wanted { release() }
    }

    /// Writes so many bytes more, as far as there is room; the first ones make the file.
    private func lengthen(by wanted: Int) {
        let isNew = byteCount == 0
        // A shell's `mv` or a person's file of the same name is left alone.
        guard isNew || isOwn else { return }
        let file = isNew ? createReserve(path) : appendToReserve(path)
        guard file >= 0 else { return }
        var left = wanted
        // Not zeros, which some file systems do not store.
        let filling = [UInt8](repeating: 0x53, count: 65_536)
        var bytes = isNew ? Array(Self.mark.utf8) : filling
        while left > 0 {
            let count = write(file, bytes, min(bytes.count, left))
            guard count > 0 else { break }
            left -= count
            bytes = filling
        }
        close(file)
        byteCount += wanted - left
        // Without its whole mark it would be taken for another's, and stay.
        if isNew, byteCount < Self.mark.utf8.count, unlink(path) == 0 { byteCount = 0 }
    }

    private var isOwn: Bool {
        guard let file = fopen(path, "r") else { return false }
        defer { fclose(file) }
        var text = [UInt8](repeating: 0, count: Self.mark.utf8.count)
        return fread(&text, 1, text.count, file) == text.count && text.elementsEqual(Self.mark.utf8)
    }

    /// Returns the bytes that this user may still write to the file system of a path; `nil` if unknown.
    static func freeSpace(_ path: String) -> Int? {
        var facts = statvfs()
        guard statvfs(path, &facts) == 0 else { return nil }
        return Int(clamping: UInt64(facts.f_bavail)).multipliedReportingOverflow(by: Int(facts.f_frsize))
            .partialValue
    }
}

/// Creates a file that only its owner can read; outside the type, where `write` is the system's too.
private func createReserve(_ path: String) -> Int32 {
    open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
}

private func appendToReserve(_ path: String) -> Int32 {
    open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW)
}
