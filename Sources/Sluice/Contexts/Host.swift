/// What a machine shows of its processes, and how long it has run.
///
/// An application has the system's. In tests it may be a simulated one, whose processes are no system's.
package protocol Host: AnyObject, Sendable {
    /// The time since the machine's boot, sleep included, for comparison with other processes, if known.
    var uptime: Duration? { get }
    /// The first word of the marks of its processes, if known: its boot with the time namespace.
    var start: String? { get }
    /// Looks at a process of the asking one's pid namespace.
    func look(at pid: Int64) -> ProcessSight
}
