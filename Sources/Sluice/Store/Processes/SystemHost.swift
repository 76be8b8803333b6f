#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// The system's machine.
package final class SystemHost: Host {
    package static let shared = SystemHost()
    static var ownPID: Int64 { Int64(getpid()) }
    private let folder: String

    /// - Parameter folder: Where Linux shows its processes.
    init(folder: String = "/proc") { self.folder = folder }

    package var uptime: Duration? {
        #if os(Linux)
        var time = timespec()
        guard clock_gettime(CLOCK_BOOTTIME, &time) == 0 else { return nil }
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
        #else
        return nil
        #endif
    }

    package var start: String? { Self.ownStart }

    /// Learns whether the process exists, if it cannot be read otherwise.
    private static func signalled(_ pid: Int64) -> ProcessSight {
        guard let pid = pid_t(exactly: pid), pid > 0 else { return .hasEnded }
        return kill(pid, 0) != 0 && errno == ESRCH ? .hasEnded : .isHidden
    }

    #if os(Linux)
    private static let ownStart = start(at: "/proc/sys/kernel/random/boot_id")

    /// Returns the id of the machine's boot; `nil` if it is not the kernel's own value, as in containers that
    /// have another file mounted there, with an id for each (systemd-nspawn does so).
    static func start(at path: String) -> String? {
        guard let file = DatabaseFile.identity(of: path),
            let system = DatabaseFile.identity(of: "/proc/self/stat"), file.device == system.device,
            let start = FileFact.contents(ofProc: path)
        else { return nil }
        // The time since boot, and those of processes, differ between time namespaces.
        let namespace = Self.link(at: "/proc/self/ns/time").map { "/\($0)" } ?? ""
        return start.prefix { $0 != "\n" } + namespace
    }

    package func look(at pid: Int64) -> ProcessSight {
        // The folder of another pid namespace lists other processes.
        if let me = Self.link(at: "\(folder)/self"), me != "\(getpid())" { return Self.signalled(pid) }
        guard let status = FileFact.contents(ofProc: "\(folder)/\(pid)/stat") else {
            return Self.signalled(pid)
        }
        // The name in parentheses may contain anything; the start is the 20th field after it (proc(5)).
        guard let name = status.lastIndex(of: ")") else { return .isHidden }
        let fields = status[name...].split(separator: " ")
        guard fields.count > 20 else { return .isHidden }
        // A zombie has ended, unless only its first thread has, by pthread_exit(3). The number of threads is
        // the 18th field after the name.
        if fields[1] == "X" || (fields[1] == "Z" && Int(fields[18]) ?? 0 < 2) { return .hasEnded }
        guard let start = Self.ownStart, let namespace = Self.link(at: "/proc/self/ns/pid") else {
            return .isHidden
        }
        return .lives(mark: "\(start) \(namespace) \(fields[20])")
    }

    private static func link(at path: String) -> String? {
        var buffer = [CChar](repeating: 0, count: 256)
        let count = readlink(path, &buffer, buffer.count)
        guard count > 0 else { return nil }
        return String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
    #elseif canImport(Darwin)
    // Not tested here: this project's machines run Linux.
    private static let ownStart: String? = nil

    package func look(at pid: Int64) -> ProcessSight {
        var process = kinfo_proc()
        var size = MemoryLayout<kinfo_proc>.stride
        var name: [Int32] = [CTL_KERN, KERN_PROC, KERN_PROC_PID, Int32(truncatingIfNeeded: pid)]
        guard sysctl(&name, UInt32(name.count), &process, &size, nil, 0) == 0, size > 0 else {
            return Self.signalled(pid)
        }
        // Not `kern.boottime`, which moves with the wall clock: live processes would seem of another boot.
        var boot = [CChar](repeating: 0, count: 64)
        var bootSize = boot.count - 1
        guard sysctlbyname("kern.bootsessionuuid", &boot, &bootSize, nil, 0) == 0 else { return .isHidden }
        let start = process.kp_proc.p_starttime
        return .lives(mark: "\(String(cString: boot)) darwin \(start.tv_sec).\(start.tv_usec)")
    }
    #else
    private static let ownStart: String? = nil
    package func look(at pid: Int64) -> ProcessSight { signalled(pid) }
    #endif
}
