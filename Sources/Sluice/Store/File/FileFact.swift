#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// The inode and size of a file, read without opening it.
struct FileFact {
    let inode: UInt64
    let byteCount: Int

    init?(_ path: some StringProtocol) {
        var status = stat()
        guard stat(String(path), &status) == 0 else { return nil }
        inode = UInt64(status.st_ino)
        byteCount = Int(status.st_size)
    }
}
