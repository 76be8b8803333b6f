#if CommandLineTool
internal import CSluiceCommands
internal import Sluice
internal import Synchronization
internal import SystemPackage

/// Reports that commands cannot be started, once until one can be started again.
final class LackRemarks: Sendable {
    private let isLacking = Mutex(false)

    func remark(_ failure: StartFailure) {
        let isNew = isLacking.withLock { isLacking in
            defer { isLacking = true }
            return !isLacking
        }
        if isNew { Terminal.remark("\(failure); no attempt is spent, it is tried again each second") }
    }

    func hasStarted() { isLacking.withLock { $0 = false } }
}
#endif
