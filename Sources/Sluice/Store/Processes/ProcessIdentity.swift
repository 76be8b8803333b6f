#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// Identifies a process, also among past and later ones with the same pid.
package struct ProcessIdentity: Sendable, Hashable {
    package let pid: Int64
    /// The machine's boot with the time namespace, the pid namespace and the start of the process, as text;
    /// empty if the system does not provide them.
    package let mark: String

    package init(pid: Int64, mark: String) { (self.pid, self.mark) = (pid, mark) }

    package static var current: ProcessIdentity { of(Int64(getpid())) }

    package static func of(_ pid: Int64) -> ProcessIdentity {
        switch look(at: pid, in: "/proc") {
        case .lives(let mark): ProcessIdentity(pid: pid, mark: mark)
        case .hasEnded, .isHidden: ProcessIdentity(pid: pid, mark: "")
        }
    }

    /// The words of the mark; `nil` if it is empty.
    private var words: [Substring]? {
        let words = mark.split(separator: " ")
        return words.count == 3 ? words : nil
    }

    /// Returns whether both share the machine's boot and the pid namespace, and so can see each other.
    func sharesMachine(with other: ProcessIdentity) -> Bool {
        guard let mine = words, let its = other.words else { return false }
        return mine[..<2] == its[..<2]
    }

    /// The time since the machine's boot, sleep included, for comparison with other processes, if known.
    static var machineUptime: Duration? {
        #if os(Linux)
        var time = timespec()
        guard clock_gettime(CLOCK_BOOTTIME, &time) == 0 else { return nil }
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
        #else
        return nil
        #endif
    }

    /// Whether it is of the machine's current boot, so that ``machineUptime`` also applies to it.
    var sharesUptime: Bool {
        guard let start = Self.machineStart else { return false }
        return mark.split(separator: " ").first == start[...]
    }

    /// Returns whether the process has certainly ended: one that the system does not show, for want of a
    /// right or a descriptor, may live.
    package func isDead(seenFrom observer: ProcessIdentity, in folder: String = "/proc") -> Bool {
        lives(seenFrom: observer, in: folder) == false
    }

    /// Returns whether the process lives; `nil` if the system gives no answer.
    func lives(seenFrom observer: ProcessIdentity, in folder: String = "/proc") -> Bool? {
        guard let mine = observer.words, let its = words else { return nil }
        guard Self.boot(mine[0]) == Self.boot(its[0]) else { return false }
        guard mine[..<2] == its[..<2] else { return nil }
        return switch Self.look(at: pid, in: folder) {
        case .lives(let found): found == mark
        case .hasEnded: false
        case .isHidden: nil
        }
    }

    private static func boot(_ start: Substring) -> Substring { start.prefix { $0 != "/" } }

    private enum Sight {
        case lives(mark: String)
        case hasEnded
        case isHidden
    }

    /// Learns whether the process exists, if it cannot be read otherwise.
    private static func signalled(_ pid: Int64) -> Sight {
        guard let pid = pid_t(exactly: pid), pid > 0 else { return .hasEnded }
        return kill(pid, 0) != 0 && errno == ESRCH ? .hasEnded : .isHidden
    }

    #if os(Linux)
    private static let machineStart = machineStart(at: "/proc/sys/kernel/random/boot_id")

    /// Returns the id of the machine's boot; `nil` if it is not the kernel's own value, as in containers that
    /// have another file mounted there, with an id for each (systemd-nspawn does so).
    static func machineStart(at path: String) -> String? {
        guard let file = DatabaseFile.identity(of: path),
            let system = DatabaseFile.identity(of: "/proc/self/stat"), file.device == system.device,
            let start = FileFact.contents(ofProc: path)
        else { return nil }
        // The time since boot, and those of processes, differ between time namespaces.
        let namespace = link(at: "/proc/self/ns/time").map { "/\($0)" } ?? ""
        return start.prefix { $0 != "\n" } + namespace
    }

    private static func look(at pid: Int64, in folder: String) -> Sight {
        // The folder of another pid namespace lists other processes.
        if let me = link(at: "\(folder)/self"), me != "\(getpid())" { return signalled(pid) }
        guard let status = FileFact.contents(ofProc: "\(folder)/\(pid)/stat") else { return signalled(pid) }
        // The name in parentheses may contain anything; the start is the 20th field after it (proc(5)).
        guard let name = status.lastIndex(of: ")") else { return .isHidden }
        let fields = status[name...].split(separator: " ")
        guard fields.count > 20 else { return .isHidden }
        // A zombie has ended, unless only its first thread has, by pthread_exit(3). The number of threads is
        // the 18th field after the name.
        if fields[1] == "X" || (fields[1] == "Z" && Int(fields[18]) ?? 0 < 2) { return .hasEnded }
        guard let machineStart, let namespace = link(at: "/proc/self/ns/pid") else { return .isHidden }
        return .lives(mark: "\(machineStart) \(namespace) \(fields[20])")
    }

    private static func link(at path: String) -> String? {
        var buffer = [CChar](repeating: 0, count: 256)
        let count = readlink(path, &buffer, buffer.count)
        guard count > 0 else { return nil }
        return String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
    #elseif canImport(Darwin)
    // Not tested here: this project's machines run Linux.
    private static let machineStart: String? = nil

    private static func look(at pid: Int64, in folder: String) -> Sight {
        var process = kinfo_proc()
        var size = MemoryLayout<kinfo_proc>.stride
        var name: [Int32] = [CTL_KERN, KERN_PROC, KERN_PROC_PID, Int32(truncatingIfNeeded: pid)]
        guard sysctl(&name, UInt32(name.count), &process, &size, nil, 0) == 0, size > 0 else {
            return signalled(pid)
        }
        // Not `kern.boottime`, which moves with the wall clock: live processes would seem of another boot.
        var boot = [CChar](repeating: 0, count: 64)
        var bootSize = boot.count - 1
        guard sysctlbyname("kern.bootsessionuuid", &boot, &bootSize, nil, 0) == 0 else { return .isHidden }
        let start = process.kp_proc.p_starttime
        return .lives(mark: "\(String(cString: boot)) darwin \(start.tv_sec).\(start.tv_usec)")
    }
    #else
    private static let machineStart: String? = nil
    private static func look(at pid: Int64, in folder: String) -> Sight { signalled(pid) }
    #endif
}
