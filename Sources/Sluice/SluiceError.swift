package import SluiceSQLite

#if canImport(FoundationEssentials)
public import protocol FoundationEssentials.LocalizedError
#else
public import protocol Foundation.LocalizedError
#endif

/// The error that the library throws.
///
/// Neither ``code`` nor ``message`` contains a payload (G13). An error from `enqueue` means that the action
/// was not stored, except ``Code/unknownCommit`` (G14).
public struct SluiceError: LocalizedError, Sendable, CustomStringConvertible {
    /// The most bytes of an error's or a reason's text that are kept in the file.
    public static let maximumTextByteCount = 2_000
    /// The kind of failure.
    public let code: Code
    /// The thing that failed and what to do about it, in one sentence.
    public let message: String
    /// The SQLite code that caused the failure (<https://www.sqlite.org/rescode.html>), if any.
    public let sqliteCode: Int32?

    package init(_ code: Code, _ message: String, sqliteCode: Int32? = nil) {
        self.code = code
        self.message = message
        self.sqliteCode = sqliteCode
    }

    /// The description, in English, for `localizedDescription`.
    public var errorDescription: String? { description }
    /// The message, with SQLite's code if there is one.
    public var description: String {
        sqliteCode.map { "\(message) [\(code), SQLite \($0)]" } ?? "\(message) [\(code)]"
    }

    /// A kind of failure; later versions may add more.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Value: String {
            case invalidQueueName, invalidPattern, invalidKind, invalidOptions, invalidGate, invalidVersion
            case duplicateRoute, duplicateQueueOptions, duplicateUpgrader, duplicateKey
            case sortKeyMismatch, sortKeyNotANumber, noSmallerSortKey, undecodable, queueFull
            case payloadNotEncodable, payloadNotJSON, payloadTooLarge, payloadNotSealed
            case cannotOpen, notADatabase, newerSchema, schemaMissing, unsupportedSQLite, readOnly
            case unsupportedDatabase, networkFileSystem, forked, fileReplaced, wrongRole, suspended
            case destinationExists, alreadyOpen, alreadyRunning, closed, waitsForItself
            case databaseLocked, diskFull, inputOutput, corrupt, outOfMemory, interrupted
            case unknownCommit, storage, noTransaction, otherDatabase, statementUnderWay, staleReceipt
            case transactionOver, connectionNotPrepared
            case connectionLost, unsupported
        }

        private let value: Value
        private init(_ value: Value) { self.value = value }
        /// The code's name.
        public var description: String { value.rawValue }
        /// A queue name is empty, longer than 512 bytes or contains a NUL.
        public static let invalidQueueName = Code(.invalidQueueName)
        /// A pattern is neither a name nor a prefix that ends in `/*`.
        public static let invalidPattern = Code(.invalidPattern)
        /// A kind is empty or longer than 255 bytes.
        public static let invalidKind = Code(.invalidKind)
        /// An option is outside its limits.
        public static let invalidOptions = Code(.invalidOptions)
        /// A gate's name is empty, longer than 255 bytes or contains a NUL.
        public static let invalidGate = Code(.invalidGate)
        /// A payload's version is below 1, or an upgrader does not lead to a later one.
        public static let invalidVersion = Code(.invalidVersion)
        /// A route for the same pattern and kind exists.
        public static let duplicateRoute = Code(.duplicateRoute)
        /// Options for the same pattern exist.
        public static let duplicateQueueOptions = Code(.duplicateQueueOptions)
        /// An upgrader of the same kind from the same version exists.
        public static let duplicateUpgrader = Code(.duplicateUpgrader)
        /// The queue's actions have another type of sort key.
        public static let sortKeyMismatch = Code(.sortKeyMismatch)
        /// A sort key is a real that is not a number.
        public static let sortKeyNotANumber = Code(.sortKeyNotANumber)
        /// The first action of a queue has the smallest possible sort key: none can be put before it.
        public static let noSmallerSortKey = Code(.noSmallerSortKey)
        /// An action with the same deduplication key exists, or did a short time ago.
        public static let duplicateKey = Code(.duplicateKey)
        /// The action's `encode(to:)` threw.
        public static let payloadNotEncodable = Code(.payloadNotEncodable)
        /// A raw payload is not one JSON value.
        public static let payloadNotJSON = Code(.payloadNotJSON)
        /// A payload has more bytes than ``BrokerOptions/maximumPayloadByteCount``.
        public static let payloadTooLarge = Code(.payloadTooLarge)
        /// ``BrokerOptions/payloadSealing`` cannot seal a payload.
        public static let payloadNotSealed = Code(.payloadNotSealed)
        /// An action in a queue is of another kind than its handle's type, or does not decode as it.
        public static let undecodable = Code(.undecodable)
        /// The queue holds as many actions as its options allow.
        public static let queueFull = Code(.queueFull)
        /// The file cannot be opened: its directory is missing, or permissions forbid it.
        public static let cannotOpen = Code(.cannotOpen)
        /// The file is not a SQLite database.
        public static let notADatabase = Code(.notADatabase)
        /// The file was written by a newer version of the library, perhaps while it was open here.
        public static let newerSchema = Code(.newerSchema)
        /// The file has no tables of the library, or older ones, and was opened for reading only.
        public static let schemaMissing = Code(.schemaMissing)
        /// The system's SQLite is older than 3.37, or lacks JSON.
        public static let unsupportedSQLite = Code(.unsupportedSQLite)
        /// The file or its directory cannot be written, or was opened with ``BrokerRole/readOnly``.
        public static let readOnly = Code(.readOnly)
        /// The database refuses a setting that the engine needs, such as WAL.
        public static let unsupportedDatabase = Code(.unsupportedDatabase)
        /// The file is on a network file system, where SQLite's WAL cannot work.
        public static let networkFileSystem = Code(.networkFileSystem)
        /// The process is a child of the one that opened the file.
        public static let forked = Code(.forked)
        /// The file was replaced, renamed or removed while it was open.
        public static let fileReplaced = Code(.fileReplaced)
        /// The broker was opened with a ``BrokerRole`` that does not allow it.
        public static let wrongRole = Code(.wrongRole)
        /// The broker is suspended, and the call does not wait until it is resumed.
        public static let suspended = Code(.suspended)
        /// A file exists at the destination of a copy.
        public static let destinationExists = Code(.destinationExists)
        /// This process has a broker on the same file.
        public static let alreadyOpen = Code(.alreadyOpen)
        /// The broker runs.
        public static let alreadyRunning = Code(.alreadyRunning)
        /// The broker was closed.
        public static let closed = Code(.closed)
        /// A handler tried to wait for an action that cannot end before the handler has returned.
        public static let waitsForItself = Code(.waitsForItself)
        /// Another connection held the write lock for longer than ``FileOptions/lockTimeout``.
        public static let databaseLocked = Code(.databaseLocked)
        /// The disk or a quota is full: nothing was stored; free some space and try again.
        public static let diskFull = Code(.diskFull)
        /// The operating system reported an input or output error.
        public static let inputOutput = Code(.inputOutput)
        /// The file is damaged.
        public static let corrupt = Code(.corrupt)
        /// SQLite could not allocate memory.
        public static let outOfMemory = Code(.outOfMemory)
        /// The application interrupted its statement, and SQLite may have rolled back the transaction.
        public static let interrupted = Code(.interrupted)
        /// A commit failed and its result could not be determined: the action may be stored.
        public static let unknownCommit = Code(.unknownCommit)
        /// Another error of SQLite.
        public static let storage = Code(.storage)
        /// The application's connection has no open transaction.
        public static let noTransaction = Code(.noTransaction)
        /// The main database of the application's connection is not the broker's file.
        public static let otherDatabase = Code(.otherDatabase)
        /// A statement in progress on the application's connection writes, such as a partly read `RETURNING`.
        public static let statementUnderWay = Code(.statementUnderWay)
        /// The attempt cannot be settled: its action was settled or removed, or its queue was taken over.
        public static let staleReceipt = Code(.staleReceipt)
        /// A settling transaction was used outside its closure, or has ended within it.
        public static let transactionOver = Code(.transactionOver)
        /// ``FileOptions/prepareConnection`` threw an error.
        public static let connectionNotPrepared = Code(.connectionNotPrepared)
        /// The connection to a server was lost: an enqueue has stored nothing; an act may have been done.
        public static let connectionLost = Code(.connectionLost)
        /// The engine has no such feature: see its guide.
        public static let unsupported = Code(.unsupported)

        /// The code with a name, as ``description`` has it.
        package init?(name: String) {
            guard let value = Value(rawValue: name) else { return nil }
            self.value = value
        }
    }

    /// Converts an error of SQLite: no raw BUSY reaches the user (G14), nor any bound value (G13).
    package init(_ error: SQLiteError, doing task: String) {
        let refusal = SystemRefusal(number: error.systemErrno)
        let (code, advice): (Code, String) =
            switch error.code {
            case .busy, .locked: (.databaseLocked, "another connection holds its lock")
            case .full: (.diskFull, "the disk is full; free some space and try again")
            case .ioError: (.inputOutput, Self.failure(refusal))
            case .corrupt: (.corrupt, "the file is damaged; run `PRAGMA integrity_check` on a copy")
            case .notADatabase: (.notADatabase, "the file is not a SQLite database")
            case .readOnly:
                (
                    .readOnly,
                    "the file or its directory cannot be written; "
                        + "check the permissions of it and of its directory"
                )
            case .permission, .cannotOpen: (refusal.code, "the file cannot be opened: \(refusal.description)")
            case .outOfMemory: (.outOfMemory, "SQLite could not allocate memory")
            case .interrupted:
                (.interrupted, "it was interrupted, and SQLite may have rolled back the whole transaction")
            case .tooBig: (.payloadTooLarge, "a value is larger than SQLite allows")
            default: (.storage, error.message)
            }
        self.init(code, "\(task): \(advice)", sqliteCode: error.code.rawValue)
    }

    private static func failure(_ refusal: SystemRefusal) -> String {
        // SQLite reports no number for the WAL, whose size may have reached a limit.
        guard refusal.number != 0 else {
            return "input or output failed: see the system's log, and limits of the size of files "
                + "(`ulimit -f`)"
        }
        // Permissions cannot be the cause once a file is open.
        return refusal.code == .cannotOpen && !refusal.isOfDescriptors
            ? "input or output failed (errno \(refusal.number))"
            : "input or output failed: \(refusal.description)"
    }

    package init(wrapping error: any Error, doing task: String) {
        switch error {
        case let error as SluiceError: self = error
        case let error as SQLiteError: self.init(error, doing: task)
        case let error as PragmaRefused:
            self.init(
                .unsupportedDatabase,
                "\(task): SQLite keeps \(error.pragma.name) at '\(error.actual)', not '\(error.pragma.value)'"
            )
        default: self.init(.storage, "\(task): \(type(of: error))")
        }
    }
}
