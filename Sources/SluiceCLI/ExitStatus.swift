#if CommandLineTool
internal import ArgumentParser
internal import Sluice

/// The exit statuses of the tool; the numbers are those of sysexits.h.
enum ExitStatus: Int32 {
    case success = 0
    /// Actions are left for an operator, or something is missing or wrong.
    ///
    /// `run --until-empty`, `run --for`, `drain`: actions are left that need an operator. `doctor`: something
    /// is wrong. Other verbs: the named thing does not exist, or it runs and is left unchanged.
    case leftover = 1
    /// `drain`, `run --for`: the time was over, and more time would have done more work.
    ///
    /// Neither sysexits.h nor systemd gives this number a meaning.
    case unfinished = 10
    /// The change was made, but standard output could not be written.
    ///
    /// For example, the number of the stored action was lost.
    case unreported = 11
    case usage = 64
    case refused = 65
    case noInput = 66
    case internalError = 70
    case cannotOpen = 73
    case inputOutput = 74
    case locked = 75

    /// Makes the status of an error of the library.
    init(_ code: SluiceError.Code) {
        switch code {
        case .invalidQueueName, .invalidPattern, .invalidGate, .invalidKind, .invalidOptions, .duplicateRoute,
            .duplicateQueueOptions:
            self = .usage
        case .sortKeyMismatch, .sortKeyNotANumber, .noSmallerSortKey, .payloadNotJSON, .payloadTooLarge,
            .payloadNotSealed, .queueFull, .duplicateKey, .unsupported:
            self = .refused
        case .cannotOpen, .readOnly, .notADatabase, .newerSchema, .schemaMissing, .unsupportedSQLite,
            .unsupportedDatabase, .networkFileSystem, .destinationExists:
            self = .cannotOpen
        case .diskFull, .inputOutput, .corrupt, .unknownCommit, .fileReplaced, .connectionLost:
            self = .inputOutput
        case .databaseLocked: self = .locked
        default: self = .internalError
        }
    }

    var exitCode: ExitCode { ExitCode(rawValue) }

    /// The part of every verb's help about exit statuses.
    static let help = """
        Exit status:
          0   done, or stopped by a signal; drain exits with 1 or 10 if a signal
              left work; dead letters, as of --on-failure skip, do not count:
              see `sluice dead list`
          1   run --until-empty, run --for, drain: actions are left, in queues
              that are parked, held or at a closed gate; 1 wins over 10;
              doctor: it has found a problem;
              otherwise: the named action, queue or hold does not exist (a queue
              exists while it has actions), or it runs and is not changed; if
              --queue, --tag or --all finds nothing to do, the status is 0, and
              so it is for an empty list
          10  run --for, drain: work is left that could run, is due later, or runs
              in another process
          11  done (an action is stored, for example), but standard output could
              not be written; verbs that only read exit with 74
          64  the arguments are wrong
          65  an action, a line or an entry was refused; enqueue --from, import
              from a folder, and import of lines with --skip-bad store all others
          66  the input cannot be read
          70  an error inside the library
          73  the file cannot be opened: no directory, no permission, no database,
              one without queues to list, one of a newer version, or one on a
              network file system; backup: the destination exists, and is kept;
              --postgres: no server, no access, or no queues in the schema
          74  input or output failed, the disk is full, or the file is damaged or
              was replaced while it was open; --postgres: the connection was lost
          75  another process holds the file's lock, or a transaction that of a
              server's queue; try again
        """
}
#endif
