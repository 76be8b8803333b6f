internal import SluiceSQLite

#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// Explains why the operating system refuses a file, with advice.
struct SystemRefusal {
    /// The error number; 0 if SQLite does not provide it.
    let number: Int32

    var description: String {
        number == 0 ? advice : "\(String(cString: strerror(number))) (errno \(number)); \(advice)"
    }

    var code: SluiceError.Code {
        switch number {
        case EROFS: .readOnly
        case ENOSPC, EDQUOT: .diskFull
        case ENOMEM: .outOfMemory
        case EIO: .inputOutput
        default: .cannotOpen
        }
    }

    var isOfDescriptors: Bool { number == EMFILE || number == ENFILE }

    private var advice: String {
        switch number {
        case EMFILE:
            "this process has reached its limit of open files: close some, or raise it (`ulimit -n`)"
        case ENFILE: "the machine has reached its limit of open files: end a program that has many"
        case ENOENT: "check that its directory exists"
        case ENOTDIR: "a part of its path is no directory"
        case ENAMETOOLONG: "use a shorter path"
        case ELOOP: "symbolic links in its path form a loop"
        case EROFS: "its file system is mounted read-only: remount it for writing, or use another place"
        case ENOSPC, EDQUOT: "free some space and try again"
        case ENOMEM: "free some memory and try again"
        case EIO: "check the system's log and the disk"
        case EISDIR: "give the path of a file"
        default: "check the permissions of it and of its directory"
        }
    }
}

extension DatabaseFile {
    /// The longest path that SQLite opens, with symbolic links resolved: it appends `-journal`, up to 512.
    static let longestPath = 504

    /// Refuses a path that SQLite would refuse without a reason.
    static func checkLength(of path: String) throws(SluiceError) {
        let parts = path.split(separator: "/", omittingEmptySubsequences: true)
        let directory = path.hasPrefix("/") ? "/" : "."
        let folder = parts.dropLast().isEmpty ? directory : String(path.dropLast(parts.last?.count ?? 0))
        // If there is no such directory, that is the error, and it is reported elsewhere.
        guard let resolved = realpath(folder, nil) else { return }
        defer { free(resolved) }
        let count = strlen(resolved) + 1 + (parts.last?.utf8.count ?? 0)
        guard count > longestPath else { return }
        throw SluiceError(
            .cannotOpen,
            "the whole path of \(path) has \(count) bytes, and SQLite opens none of more than "
                + "\(longestPath): use a shorter one, or a shorter name for a directory in it"
        )
    }
}
