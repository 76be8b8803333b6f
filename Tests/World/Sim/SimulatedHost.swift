import Sluice

/// The machine on which the processes of a world run.
extension World: Host {
    /// The name of its boot.
    static let boot = "world"

    var uptime: Duration? { now }
    var start: String? { Self.boot }

    func look(at pid: Int64) -> ProcessSight {
        guard let process = processes[pid], !process.isDead else { return .hasEnded }
        return .lives(mark: process.mark)
    }
}
