internal import SluiceSQLite

extension DatabaseFile {
    /// Refuses a file that other machines may have open: processes that use a WAL share memory
    /// (<https://www.sqlite.org/wal.html>), and locks of network file systems are unreliable
    /// (<https://www.sqlite.org/howtocorrupt.html>, 2.1).
    static func checkMount(_ path: String, _ mount: MountFacts?) throws(SluiceError) {
        if mount?.isMountPoint == true {
            throw SluiceError(
                .cannotOpen,
                "\(path) is mounted as a single file, without its WAL, which others could not see and which "
                    + "could be lost: mount its directory instead"
            )
        }
        guard let name = mount?.network, !mutant("network file") else { return }
        throw SluiceError(
            .networkFileSystem,
            "\(path) lies on a network file system (\(name)), where SQLite's WAL cannot be shared safely; "
                + "keep it on a disk of this machine"
        )
    }

    /// Opens the file without the writer, with the writer's checks: set to query only, but able to remove the
    /// WAL and its index again if it created them.
    func openToRead(_ path: String) throws(SluiceError) -> FileLook {
        do {
            try checkLibrary()
            guard FileFact(path) != nil else { throw Self.isMissing(path) }
            let look = try FileLook(path, vfs: vfs, lockTimeout: lockTimeout)
            do {
                try setReading(look.connection)
                guard try look.connection.pragma("encoding") == "UTF-8" else {
                    let message = "\(path) keeps its text in UTF-16: it has no queues"
                    throw SluiceError(.unsupportedDatabase, message)
                }
                try Migrator().check(look.connection, makesMissing: false)
            } catch {
                look.close()
                throw error
            }
            return look
        } catch {
            throw SluiceError(wrapping: error, doing: "opening \(path)")
        }
    }

    static func isMissing(_ path: String) -> SluiceError {
        SluiceError(.cannotOpen, "there is no file \(path): check the path")
    }

    /// Applies the settings of a connection that only reads.
    func setReading(_ connection: Connection) throws {
        connection.harden()
        let pragmas = [
            Pragma("query_only", true), Pragma("mmap_size", 0), Pragma("trusted_schema", false),
            // Who looks because a disk is full needs no temporary files.
            Pragma("temp_store", "MEMORY", answers: "2"),
        ]
        for pragma in pragmas { try connection.set(pragma) }
    }
}
