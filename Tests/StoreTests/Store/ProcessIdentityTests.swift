#if os(Linux)
import Foundation
import SluiceTestKit
import TestSupport
import Testing

@testable import Sluice

@Suite("Whether another process lives", .watched) struct ProcessIdentityTests {
    @Test("A process is dead when its machine or itself has begun anew, and never by a foreign pid namespace")
    func identity() throws {
        let me = ProcessIdentity.current
        let mark = me.mark.split(separator: " ").map(String.init)
        try #require(mark.count == 3)
        let parent = try ProcessIdentity(pid: Int64(getppid()), mark: Self.mark(of: getppid(), like: mark))
        func identity(_ pid: Int64, _ boot: String, _ namespace: String, _ start: String) -> ProcessIdentity {
            ProcessIdentity(pid: pid, mark: "\(boot) \(namespace) \(start)")
        }
        #expect(!me.isDead(seenFrom: me))
        #expect(!parent.isDead(seenFrom: me))
        #expect(identity(me.pid, "earlier", mark[1], mark[2]).isDead(seenFrom: me))
        #expect(identity(me.pid, mark[0], mark[1], "1").isDead(seenFrom: me))
        // No process has this number: it is above the largest that Linux allows.
        #expect(identity(1 << 22 + 1, mark[0], mark[1], "1").isDead(seenFrom: me))
        #expect(!identity(me.pid, mark[0], "pid:[1]", "1").isDead(seenFrom: me))
        #expect(!ProcessIdentity(pid: me.pid, mark: "").isDead(seenFrom: me))
        // What the system does not show, for want of a right or of a descriptor, is not known to have ended.
        let unseeing = me.seeing(by: "/proc/self/fdinfo")
        #expect(!parent.isDead(seenFrom: unseeing))
        #expect(identity(1 << 22 + 1, mark[0], mark[1], "1").isDead(seenFrom: unseeing))
        #expect(
            !identity(me.pid, "earlier", mark[1], mark[2]).isDead(seenFrom: ProcessIdentity(pid: 1, mark: ""))
        )
        #expect(me.lives(seenFrom: me) == true)
        #expect(parent.lives(seenFrom: unseeing) == nil)
    }

    @Test("G3: a process whose first thread alone has ended lives; a zombie does not")
    func firstThread() throws {
        let folder = try ProcFolder()
        let me = ProcessIdentity.current.seeing(by: folder.path)
        let start = try #require(me.mark.split(separator: " ").last)
        let its = ProcessIdentity(pid: 4_711, mark: me.mark)
        for (state, threads, lives) in [("S", 6, true), ("Z", 6, true), ("Z", 1, false), ("X", 0, false)] {
            try folder.tell(of: its.pid, state, threads: threads, start: start)
            #expect(its.lives(seenFrom: me) == lives, "\(state) \(threads)")
        }
    }

    @Test("G3: what the system tells of another pid namespace's processes is no word of a death")
    func otherNamespace() throws {
        let folder = try ProcFolder()
        let me = ProcessIdentity.current.seeing(by: folder.path)
        // There, this number is that of a process that began later.
        try folder.tell(of: me.pid, "S", threads: 1, start: "99")
        #expect(me.lives(seenFrom: me) == false)
        try FileManager.default.createSymbolicLink(
            atPath: folder.path + "/self",
            withDestinationPath: "\(me.pid + 1)"
        )
        #expect(me.lives(seenFrom: me) == nil)
    }

    @Test("G3: a number of the machine's start that is not the kernel's own is none")
    func mountedStart() throws {
        // As a container is shown a file of its own.
        let file = try TemporaryFile()
        try "another\n".write(toFile: file.path, atomically: false, encoding: .utf8)
        #expect(SystemHost.start(at: file.path) == nil)
        let own = try #require(ProcessIdentity.current.mark.split(separator: " ").first)
        #expect(SystemHost.start(at: "/proc/sys/kernel/random/boot_id") == String(own))
    }

    @Test("G3: a process in another time namespace has another time since the start, and is not told dead")
    func timeNamespace() throws {
        let me = ProcessIdentity.current
        let words = me.mark.split(separator: " ").map(String.init)
        let parts = words[0].split(separator: "/")
        try #require(parts.count == 2 && me.sharesUptime(with: me))
        let elsewhere = ProcessIdentity(
            pid: me.pid,
            mark: "\(parts[0])/time:[1] pid:[1] \(words[2])"
        )
        #expect(!elsewhere.sharesUptime(with: me))
        // Not of an earlier start of the machine, which would be a death.
        #expect(elsewhere.lives(seenFrom: me) == nil)
        let now = Timestamp(microseconds: 1_000_000)
        // Its own time since the start says a day, and the wall clock a second.
        let lease = LeaseEnd(2_000_000, 86_400_000_000)
        #expect(lease.timeLeft(of: elsewhere, seenFrom: me, at: now) == .seconds(1))
    }

    /// The identity of a process as the library writes it.
    static func mark(of pid: pid_t, like mark: [String]) throws -> String {
        let status = try String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)
        let name = try #require(status.lastIndex(of: ")"))
        return "\(mark[0]) \(mark[1]) \(status[name...].split(separator: " ")[20])"
    }
}

extension ProcessIdentity {
    /// The same process with another folder of processes.
    fileprivate func seeing(by folder: String) -> ProcessIdentity {
        ProcessIdentity(pid: pid, mark: mark, on: SystemHost(folder: folder))
    }
}

/// A folder that tells of processes as Linux does.
private struct ProcFolder {
    private let file: TemporaryFile
    var path: String { file.path }

    init() throws {
        file = try TemporaryFile(name: "proc")
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    }

    func tell(of pid: Int64, _ state: String, threads: Int, start: some StringProtocol) throws {
        try FileManager.default.createDirectory(atPath: "\(path)/\(pid)", withIntermediateDirectories: true)
        let others = Array(repeating: "0", count: 16).joined(separator: " ")
        try "\(pid) (a) \(state) \(others) \(threads) 0 \(start) 0\n"
            .write(toFile: "\(path)/\(pid)/stat", atomically: false, encoding: .utf8)
    }
}
#endif
