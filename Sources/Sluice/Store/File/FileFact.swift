#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// A file's identity, size and last change, read without opening it.
struct FileFact: Equatable {
    let identity: DatabaseFile.Identity
    let byteCount: Int
    private let seconds: Int
    private let nanoseconds: Int

    init?(_ path: some StringProtocol) {
        var status = stat()
        guard stat(String(path), &status) == 0 else { return nil }
        identity = DatabaseFile.Identity(status)
        byteCount = Int(status.st_size)
        #if canImport(Darwin)
        let modified = status.st_mtimespec
        #else
        let modified = status.st_mtim
        #endif
        (seconds, nanoseconds) = (modified.tv_sec, modified.tv_nsec)
    }

    /// Returns the contents of a file of Linux's proc file system; `nil` if there are none, as elsewhere.
    static func contents(ofProc path: String) -> String? {
        guard let file = fopen(path, "r") else { return nil }
        defer { fclose(file) }
        var text: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while case let count = fread(&buffer, 1, buffer.count, file), count > 0 { text += buffer[..<count] }
        return text.isEmpty ? nil : String(decoding: text, as: UTF8.self)
    }
}

extension DatabaseFile.Identity {
    enum Fate { case isThere, isMissing, isAnother, isUnknown }

    /// Returns what has become of the file at its path.
    func fate(at path: String) -> Fate {
        var status = stat()
        if stat(path, &status) == 0 { return Self(status) == self ? .isThere : .isAnother }
        return errno == ENOENT || errno == ENOTDIR ? .isMissing : .isUnknown
    }
}
