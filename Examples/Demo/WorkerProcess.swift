#if CommandLineTool
import Foundation
import Subprocess
import SystemPackage

/// A worker in a process of its own: this same program, started with a hidden verb.
struct WorkerProcess {
    let number: Int
    let stage: Stage
    let seed: UInt64

    /// Starts the worker, performs `body`, and returns when the worker has ended.
    ///
    /// The worker stops in order when `body` returns, because its standard input ends then; it is killed when
    /// `body` throws or this task is cancelled.
    ///
    /// - Parameter body: What to do meanwhile; it is handed a `kill -9` for this worker.
    func run(
        _ body: (_ pid: Int, _ kill: () throws -> Void) async throws -> Void
    ) async throws -> TerminationStatus {
        var options = PlatformOptions()
        // A group of its own: Ctrl-C in the terminal then reaches the demo alone, which sees to its worker.
        options.processGroupID = 0
        let result = try await Subprocess.run(
            .path(FilePath(try Self.program)),
            arguments: Arguments(["worker", stage.queues, stage.log, "\(number)", "\(seed)"]),
            platformOptions: options,
            input: .inputWriter,
            output: .discarded,
            error: .currentStandardError
        ) { execution in
            try await body(Int(execution.processIdentifier.value)) { try execution.send(signal: .kill) }
        }
        return result.terminationStatus
    }

    private static var program: String {
        get throws {
            guard let path = Bundle.main.executablePath else {
                throw DemoError("this program cannot find itself")
            }
            return path
        }
    }
}
#endif
