#if CommandLineTool
internal import SystemPackage

#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// Reads files of a folder that another program has written.
///
/// It follows no links, waits for no pipes, and reads nothing beyond a limit.
enum PlainFile {
    /// Bytes that one call reads.
    private static let pieceSize = 64 * 1_024

    /// Opens a file for reading.
    ///
    /// - Returns: The file, and its size in bytes.
    static func open(_ path: String) throws(Refusal) -> (descriptor: FileDescriptor, byteCount: Int) {
        let descriptor: FileDescriptor
        do {
            // So that opening a pipe without a writer does not wait.
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

    /// Returns the bytes of a file.
    static func contents(of path: String, limit: Int) throws(Refusal) -> [UInt8] {
        let (descriptor, byteCount) = try open(path)
        defer { try? descriptor.close() }
        var bytes: [UInt8] = []
        // One byte more than the file should have, so that an empty read marks the end.
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

    /// Returns the text of a file.
    static func text(of path: String, limit: Int) throws(Refusal) -> String {
        let bytes = try contents(of: path, limit: limit)
        guard !bytes.isEmpty else { throw Refusal("it is empty") }
        guard let text = String(validating: bytes, as: UTF8.self) else { throw Refusal("it is not UTF-8") }
        return text
    }

    /// Returns whether a path leads to a folder.
    static func isFolder(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    /// Returns whether anything is at a path, even a broken link.
    static func isThere(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }

    /// Returns whether a path is a symbolic link.
    static func isLink(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK
    }

    /// Returns the names in a folder, sorted.
    ///
    /// Names that are not UTF-8 are repaired, so files with such names are reported as missing.
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
            // By address, since the entry may be shorter than the type of its field.
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

    /// Returns a folder's own name, also for a relative path.
    static func ownName(of path: String) -> String? { resolved(path)?.lastComponent?.string }

    /// Returns the folder of a file or folder, with links resolved.
    static func parent(of path: String) -> String? { resolved(path)?.removingLastComponent().string }

    private static func resolved(_ path: String) -> FilePath? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return FilePath(platformString: resolved)
    }
}
#endif
