/// When a lease is over, as the file has it: by the wall clock, and by the time since the machine's start.
///
/// The second counts between processes of one start: no jump of the wall clock moves it.
struct LeaseEnd: Sendable, Hashable {
    let wall: Timestamp
    /// In microseconds; `nil` where the system does not tell.
    let onMachine: Int64?

    init(_ wall: Int64, _ onMachine: Int64?) {
        self.wall = Timestamp(microseconds: wall)
        self.onMachine = onMachine
    }

    /// The end of a lease that begins now.
    init(after length: Duration, from now: Timestamp) {
        wall = now + length
        onMachine = ProcessIdentity.machineUptime.map { ($0 + length).wholeMicroseconds }
    }

    /// How long a process still has it; not more than nothing when it is over.
    func timeLeft(of process: ProcessIdentity, at now: Timestamp) -> Duration {
        if let onMachine, process.sharesUptime, let uptime = ProcessIdentity.machineUptime {
            return .microseconds(onMachine) - uptime
        }
        return wall - now
    }
}
