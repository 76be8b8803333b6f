/// The end of a lease in the file: by the wall clock and, for processes of one boot, the machine's uptime.
struct LeaseEnd: Sendable, Hashable {
    let wall: Timestamp
    /// In microseconds; `nil` if the system does not provide it.
    let onMachine: Int64?

    init(_ wall: Int64, _ onMachine: Int64?) {
        self.wall = Timestamp(microseconds: wall)
        self.onMachine = onMachine
    }

    /// - Parameter process: The one that has the lease.
    init(after length: Duration, from now: Timestamp, of process: ProcessIdentity) {
        wall = now + length
        onMachine = process.host.uptime.map { ($0 + length).wholeMicroseconds }
    }

    /// Returns how long a process still has the lease; zero or less when it has ended.
    func timeLeft(
        of process: ProcessIdentity,
        seenFrom me: ProcessIdentity,
        at now: Timestamp
    ) -> Duration {
        if let onMachine, process.sharesUptime(with: me), let uptime = me.host.uptime {
            return .microseconds(onMachine) - uptime
        }
        return wall - now
    }
}
