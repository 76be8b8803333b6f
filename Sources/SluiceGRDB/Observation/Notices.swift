#if GRDB
internal import GRDB
internal import Sluice
internal import Synchronization

/// Makes one notification after the other, never two at a time.
final class Notices: Sendable {
    private enum State { case idle, underWay, underWayAndLate }

    private let state = Mutex(State.idle)
    private let notify: @Sendable (_ done: @escaping @Sendable () -> Void) -> Void

    init(_ notify: @escaping @Sendable (_ done: @escaping @Sendable () -> Void) -> Void) {
        self.notify = notify
    }

    /// Notes a change, which a notification that begins from now on will report.
    func note() {
        let isFirst = state.withLock { state in
            defer { state = state == .idle ? .underWay : .underWayAndLate }
            return state == .idle
        }
        if isFirst { begin() }
    }

    private func begin() {
        notify { [self] in
            let isLate = state.withLock { state in
                defer { state = state == .underWayAndLate ? .underWay : .idle }
                return state == .underWayAndLate
            }
            if isLate { begin() }
        }
    }
}
#endif
