internal import Foundation

/// Stops a child process by SIGSTOP, and returns when all its threads stand.
///
/// The signal alone is on its way for a while, in which the process goes on.
package func suspendProcess(_ child: Int32) throws {
    var info = siginfo_t()
    var result = kill(child, SIGSTOP)
    while result == 0 {
        result = waitid(P_PID, id_t(child), &info, Int32(WSTOPPED))
        if result == 0 { return }
        if errno == EINTR { result = 0 }
    }
    throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .ESRCH)
}
