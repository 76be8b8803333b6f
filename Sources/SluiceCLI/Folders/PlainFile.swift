#if CommandLineTool
internal import SystemPackage

#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// Files of a folder that somebody else has written.
///
/// No link is followed, no pipe is waited for, and nothing is read beyond a limit.
enum PlainFile {
    /// Bytes that one call reads.
    private static let pieceSize = 64 * 1_024

    /// Opens a file to read it.
    ///
    /// - Returns: The file, and the bytes that it has.
    static func open(_ path: String) throws(Refusal) -> (descriptor: FileDescriptor, byteCount: Int) {
        let descriptor: FileDescriptor
        do {
            // A pipe is opened at once then, though nobody writes to it.
            let options: FileDescriptor.OpenOptions = [.closeOnExec, .noFollow, .nonBlocking]
            descriptor = try path.withCString { try FileDescriptor.open($0, .readOnly, options: options) }
        } catch Errno.noSuchFileOrDirectory {
            throw Refusal("it is missing")
        } catch Errno.tooManySymbolicLinkLevels {
            throw Refusal("it is a symbolic link")
        } catch {
            throw Refusal("it cannot be opened: \(error)")
        }
        var status = stat()
        if fstat(descriptor.rawValue, &status) == 0, status.st_mode & S_IFMT == S_IFREG {
            return (descriptor, Int(status.st_size))
        }
        try? descriptor.close()
        throw Refusal(status.st_mode & S_IFMT == S_IFDIR ? "it is a directory" : "it is no plain file")
    }

    /// All that stands in a file.
    static func contents(of path: String, limit: Int) throws(Refusal) -> [UInt8] {
        let (descriptor, byteCount) = try open(path)
        defer { try? descriptor.close() }
        var bytes: [UInt8] = []
        // One byte more than it should have: an empty read is the end.
        var room = min(max(byteCount, 0) + 1, pieceSize)
        while bytes.count <= limit {
            do {
                let piece = try [UInt8](unsafeUninitializedCapacity: room) { buffer, count in
                    count = try descriptor.read(into: UnsafeMutableRawBufferPointer(buffer))
                }
                if piece.isEmpty { return bytes }
                bytes += piece
            } catch {
                throw Refusal("it cannot be read: \(error)")
            }
            room = pieceSize
        }
        throw Refusal("it has more than \(limit) bytes")
    }

    /// The text of a file.
    static func text(of path: String, limit: Int) throws(Refusal) -> String {
        let bytes = try contents(of: path, limit: limit)
        guard !bytes.isEmpty else { throw Refusal("it is empty") }
        guard let text = String(validating: bytes, as: UTF8.self) else { throw Refusal("it is not UTF-8") }
        return text
    }

    /// Whether a path leads to a folder.
    static func isFolder(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    /// Whether there is anything at a path, be it a link that leads nowhere.
    static func isThere(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }

    /// Whether a symbolic link stands at a path.
    static func isLink(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK
    }

    /// What stands in a folder, sorted.
    ///
    /// Names that are no UTF-8 are repaired: what then has none of them is missing.
    static func names(in path: String) throws(Refusal) -> [String] {
        guard let folder = opendir(path) else { throw notListed(errno) }
        defer { closedir(folder) }
        var names: [String] = []
        while true {
            errno = 0
            guard let entry = readdir(folder) else {
                guard errno == 0 else { throw notListed(errno) }
                break
            }
            // By its address: the entry is no longer than its name, and shorter than the type of its field.
            guard let offset = MemoryLayout<dirent>.offset(of: \.d_name) else { continue }
            let start = UnsafeRawPointer(entry) + offset
            let name = String(cString: start.assumingMemoryBound(to: CChar.self))
            if name != "." && name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    private static func notListed(_ code: CInt) -> Refusal {
        Refusal("it cannot be listed: \(Errno(rawValue: code))")
    }

    /// A folder's own name, wherever its path begins.
    static func ownName(of path: String) -> String? { resolved(path)?.lastComponent?.string }

    /// The folder that a file or folder stands in, links followed.
    static func parent(of path: String) -> String? { resolved(path)?.removingLastComponent().string }

    private static func resolved(_ path: String) -> FilePath? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return FilePath(platformString: resolved)
    }
}
#endif
