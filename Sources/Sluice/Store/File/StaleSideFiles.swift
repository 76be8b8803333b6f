internal import SluiceSQLite

#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// Removes a WAL and an index left by another user, as the `sqlite3` shell does without write access.
enum StaleSideFiles {
    /// Removes them if they are empty and unused, or reports whose they are; does nothing if this user may
    /// write them, or may not write the file.
    static func remove(besides path: String) throws(SluiceError) {
        guard !blocking(path).isEmpty else { return }
        // With the lock, no process removes a file that another, opening the database too, has just created.
        let directory = open(MountFacts.directory(of: path), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { return }
        defer { close(directory) }
        while flock(directory, LOCK_EX) != 0, errno == EINTR {}
        let files = blocking(path)
        guard let first = files.first else { return }
        let users = LockTable.users(indexPath: "\(path)-shm")
        guard LockTable.isKnown, users.isEmpty, DatabaseFile.byteCount(of: "\(path)-wal") ?? 0 == 0 else {
            throw refusal(path, first, users)
        }
        for file in files where unlink(file) != 0 && errno != ENOENT { throw refusal(path, file, []) }
    }

    /// Returns the files that this user may not write, if the user may write the database.
    private static func blocking(_ path: String) -> [String] {
        guard !DatabaseFile.isProtected(path) else { return [] }
        return ["\(path)-wal", "\(path)-shm"].filter { DatabaseFile.isProtected($0) }
    }

    private static func refusal(_ path: String, _ file: String, _ users: [Int]) -> SluiceError {
        var status = stat()
        let owner = stat(file, &status) == 0 ? " of user \(name(of: status.st_uid))" : ""
        let programs = users.map { pid in
            LockTable.programName(of: pid).map { "\($0) (process \(pid))" } ?? "process \(pid)"
        }
        let use = programs.isEmpty ? "" : ", which \(programs.joined(separator: " and ")) has open,"
        return SluiceError(
            .readOnly,
            "\(path) cannot be written: \(file)\(owner)\(use) is in the way; end all programs that use the "
                + "database, and have that user or root remove the file"
        )
    }

    private static func name(of user: uid_t) -> String {
        guard let entry = getpwuid(user), let name = entry.pointee.pw_name else { return "\(user)" }
        return "\(String(cString: name)) (\(user))"
    }
}
