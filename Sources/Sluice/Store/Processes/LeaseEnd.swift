/// The end of a lease in the file: by the wall clock and, for processes of one boot, the machine's uptime.
struct LeaseEnd: Sendable, Hashable {
    let wall: Timestamp
    /// In microseconds; `nil` if the system does not provide it.
    let onMachine: Int64?

    init(_ wall: Int64, _ onMachine: Int64?) {
        self.wall = Timestamp(microseconds: wall)
        self.onMachine = onMachine
    }

    init(after length: Duration, from now: Timestamp) {
        wall = now + length
        onMachine = ProcessIdentity.machineUptime.map { ($0 + length).wholeMicroseconds }
    }

    /// Returns how long a process still has the lease; zero or less when it has ended.
    func timeLeft(of process: ProcessIdentity, at now: Timestamp) -> Duration {
        if let onMachine, process.sharesUptime, let uptime = ProcessIdentity.machineUptime {
            return .microseconds(onMachine) - uptime
        }
        return wall - now
    }
}
