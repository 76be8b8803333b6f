internal import SluiceSQLite

/// Opening in a role that writes nothing.
extension Store {
    /// Opens the file for a look, and makes a writer that refuses.
    static func openToRead(
        _ file: DatabaseFile,
        _ path: String?,
        _ check: FileCheck,
        _ options: BrokerOptions
    ) throws(SluiceError) -> (Reader, Writer) {
        guard let path else {
            throw SluiceError(.invalidOptions, "queues in memory cannot be opened with the role readOnly")
        }
        let reader = Reader(
            path,
            check,
            options.engine,
            open: { try file.openToRead(path) },
            opened: try file.openToRead(path)
        )
        let refusal = SluiceError(
            .readOnly,
            "\(path) was opened with the role readOnly: open it with the role run or enqueueOnly to change it"
        )
        return (reader, Writer(refusing: refusal, check, options.engine))
    }
}
