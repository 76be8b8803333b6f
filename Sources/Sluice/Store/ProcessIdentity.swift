#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// A process, told from any other that had or will have the same pid.
package struct ProcessIdentity: Sendable, Hashable {
    package let pid: Int64
    /// The start of the machine, the pid namespace and the start of the process, as text; empty where the
    /// system does not tell.
    package let mark: String

    package init(pid: Int64, mark: String) {
        self.pid = pid
        self.mark = mark
    }

    /// This process.
    package static var current: ProcessIdentity {
        let pid = Int64(getpid())
        return ProcessIdentity(pid: pid, mark: mark(of: pid))
    }

    /// Whether both have the machine's start and their pid namespace in common, and so one time since that
    /// start.
    func sharesMachine(with other: ProcessIdentity) -> Bool {
        let mine = mark.split(separator: " ")
        let its = other.mark.split(separator: " ")
        return mine.count == 3 && its.count == 3 && mine[..<2] == its[..<2]
    }

    /// The time since the start of the machine, sleep included; `nil` where the system does not tell.
    ///
    /// Not the broker's clock: it is compared with what other processes have written.
    static var machineUptime: Duration? {
        #if os(Linux)
        var time = timespec()
        guard clock_gettime(CLOCK_BOOTTIME, &time) == 0 else { return nil }
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
        #else
        return nil
        #endif
    }

    /// Whether the process has certainly ended: the machine has been started again since, or it shares
    /// `observer`'s pid namespace and its pid is free or belongs to a process that began later.
    package func isDead(seenFrom observer: ProcessIdentity) -> Bool {
        let mine = observer.mark.split(separator: " ")
        let its = mark.split(separator: " ")
        guard mine.count == 3, its.count == 3 else { return false }
        guard mine[0] == its[0] else { return true }
        guard mine[1] == its[1] else { return false }
        return Self.mark(of: pid) != mark
    }

    #if os(Linux)
    private static func mark(of pid: Int64) -> String {
        guard
            let boot = contents(of: "/proc/sys/kernel/random/boot_id"),
            let status = contents(of: "/proc/\(pid)/stat"),
            let namespace = link(at: "/proc/self/ns/pid"),
            // The name, in parentheses, may hold anything; the start time is the 20th field behind it
            // (proc(5)).
            let name = status.lastIndex(of: ")")
        else { return "" }
        let fields = status[name...].split(separator: " ")
        guard fields.count > 20 else { return "" }
        // A zombie has ended, though its parent has not asked for its status.
        guard fields[1] != "Z" && fields[1] != "X" else { return "" }
        return "\(boot.trimmingNewline) \(namespace) \(fields[20])"
    }

    /// All that a file of the proc file system says.
    static func contents(of path: String) -> String? {
        guard let file = fopen(path, "r") else { return nil }
        defer { fclose(file) }
        var text: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while case let count = fread(&buffer, 1, buffer.count, file), count > 0 { text += buffer[..<count] }
        return text.isEmpty ? nil : String(decoding: text, as: UTF8.self)
    }

    private static func link(at path: String) -> String? {
        var buffer = [CChar](repeating: 0, count: 256)
        let count = readlink(path, &buffer, buffer.count)
        guard count > 0 else { return nil }
        return String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
    #elseif canImport(Darwin)
    // Not tested here: this project's machines run Linux.
    private static func mark(of pid: Int64) -> String {
        var process = kinfo_proc()
        var size = MemoryLayout<kinfo_proc>.stride
        var name: [Int32] = [CTL_KERN, KERN_PROC, KERN_PROC_PID, Int32(truncatingIfNeeded: pid)]
        guard sysctl(&name, UInt32(name.count), &process, &size, nil, 0) == 0, size > 0 else { return "" }
        var boot = timeval()
        var bootSize = MemoryLayout<timeval>.stride
        guard sysctlbyname("kern.boottime", &boot, &bootSize, nil, 0) == 0 else { return "" }
        let start = process.kp_proc.p_starttime
        return "\(boot.tv_sec) darwin \(start.tv_sec).\(start.tv_usec)"
    }
    #else
    private static func mark(of pid: Int64) -> String { "" }
    #endif
}

extension String {
    fileprivate var trimmingNewline: Substring { last == "\n" ? dropLast() : self[...] }
}
