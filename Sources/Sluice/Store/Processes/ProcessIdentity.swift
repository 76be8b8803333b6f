/// Identifies a process, also among past and later ones with the same pid.
package struct ProcessIdentity: Sendable {
    package let pid: Int64
    /// The machine's boot with the time namespace, the pid namespace and the start of the process, as text;
    /// empty if the system does not provide them.
    package let mark: String
    /// The host by which it sees others.
    let host: any Host

    package init(pid: Int64, mark: String, on host: any Host = SystemHost.shared) {
        (self.pid, self.mark, self.host) = (pid, mark, host)
    }

    package static var current: ProcessIdentity { of(SystemHost.ownPID) }

    package static func of(_ pid: Int64) -> ProcessIdentity {
        switch SystemHost.shared.look(at: pid) {
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

    /// Whether it is of the current boot of an observer's host, so that its uptime also applies to it.
    func sharesUptime(with observer: ProcessIdentity) -> Bool {
        guard let start = observer.host.start else { return false }
        return mark.split(separator: " ").first == start[...]
    }

    /// Returns whether the process has certainly ended: one that the system does not show, for want of a
    /// right or a descriptor, may live.
    package func isDead(seenFrom observer: ProcessIdentity) -> Bool { lives(seenFrom: observer) == false }

    /// Returns whether the process lives; `nil` if the system gives no answer.
    func lives(seenFrom observer: ProcessIdentity) -> Bool? {
        guard let mine = observer.words, let its = words else { return nil }
        guard Self.boot(mine[0]) == Self.boot(its[0]) else { return false }
        guard mine[..<2] == its[..<2] else { return nil }
        return switch observer.host.look(at: pid) {
        case .lives(let found): found == mark
        case .hasEnded: false
        case .isHidden: nil
        }
    }

    private static func boot(_ start: Substring) -> Substring { start.prefix { $0 != "/" } }
}

// The host is how it sees, not who it is.
extension ProcessIdentity: Hashable {
    package static func == (left: ProcessIdentity, right: ProcessIdentity) -> Bool {
        left.pid == right.pid && left.mark == right.mark
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(pid)
        hasher.combine(mark)
    }
}
