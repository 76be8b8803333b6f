import SluiceTestKit

@testable import Sluice

/// The rules of <doc:Disciplines> written down as plainly as they can be: a list that is sorted for each
/// question.
struct ReferenceQueue {
    struct Entry {
        var id: Int64
        var key: Int64
        var isRunning = false
        /// By the wall clock: not before this.
        var dueAt: Int64?
        /// Gates that must be open: its own, and the one that its last attempt named.
        var ownGate: String?
        var namedGate: String?
        var starts: [String] = []
        var memberOf: [String] = []
        /// By the wall clock: not started any more from then on.
        var expiresAt: Int64?

        var place: Spot { Spot(key: key, id: id) }
    }

    struct Spot: Comparable {
        var key: Int64
        var id: Int64

        static func < (left: Spot, right: Spot) -> Bool { (left.key, left.id) < (right.key, right.id) }
    }

    /// What a claim ends with.
    enum Answer: Equatable {
        case run(Int64)
        case taken
        case waiting
        case gated
        case empty
    }

    let discipline: QueueDiscipline
    var entries: [Entry] = []
    var openGates: Set<String> = []
    var now: Int64 = 0
    /// Where the last one stands that was passed over in this pass.
    private var mark: Spot?
    /// Groups whose start has failed for good in this pass.
    private var closed: Set<String> = []

    init(_ discipline: QueueDiscipline) { self.discipline = discipline }

    private var slots: Int {
        if case .concurrent(let slots) = discipline { slots } else { 1 }
    }

    /// Those that do not run, in the order of the queue.
    private var waiting: [Entry] { entries.filter { !$0.isRunning }.sorted { $0.place < $1.place } }

    private func isDue(_ entry: Entry) -> Bool { entry.dueAt ?? now <= now }

    private func isUngated(_ entry: Entry) -> Bool {
        [entry.ownGate, entry.namedGate].allSatisfy { $0.map(openGates.contains) ?? true }
    }

    private func isReady(_ entry: Entry) -> Bool { isDue(entry) && isUngated(entry) }

    /// What a claim made now ends with.
    mutating func claim() -> Answer {
        guard entries.count(where: \.isRunning) < slots else { return .taken }
        let next: Entry?
        switch discipline {
        case .firstInFirstOut:
            next = waiting.first
            if let next, !isUngated(next) { return .gated }
            if let next, !isDue(next) { return .waiting }
        case .lastInFirstOut: next = waiting.last { isReady($0) }
        case .concurrent: next = waiting.first { isReady($0) }
        case .passOver: next = nextOfPass() ?? (beginPass() ? nextOfPass() : nil)
        }
        guard let next, let index = entries.firstIndex(where: { $0.id == next.id }) else { return .empty }
        entries[index].isRunning = true
        return .run(next.id)
    }

    private mutating func nextOfPass() -> Entry? {
        while let entry = waiting.first(where: { isReady($0) && (mark == nil || $0.place > mark ?? $0.place) }
        ) {
            guard isHeldUp(entry) else { return entry }
            mark = entry.place
        }
        return nil
    }

    /// Whether the start of one of its groups stands before it, or has failed for good in this pass.
    private func isHeldUp(_ member: Entry) -> Bool {
        member.memberOf.contains { group in
            closed.contains(group)
                || entries.contains { $0.starts.contains(group) && $0.place < member.place }
        }
    }

    private mutating func beginPass() -> Bool {
        defer { (mark, closed) = (nil, []) }
        return mark != nil
    }

    /// An attempt has ended, and the action is to be tried again.
    mutating func giveBack(_ id: Int64, after delay: Int64, gate: String? = nil, hasFailed: Bool = true) {
        guard let index = entries.firstIndex(where: { $0.id == id }) else { return }
        entries[index].isRunning = false
        entries[index].dueAt = now + delay
        if hasFailed { entries[index].namedGate = gate }
        // Never back, where the action has got an earlier place while it ran.
        if hasFailed, discipline == .passOver {
            mark = max(mark ?? entries[index].place, entries[index].place)
        }
    }

    /// An action has failed with all that wait behind it.
    mutating func failAll(_ id: Int64) {
        guard let failed = entries.first(where: { $0.id == id }) else { return }
        let isReversed = discipline == .lastInFirstOut
        entries.removeAll {
            !$0.isRunning && (isReversed ? $0.place < failed.place : failed.place < $0.place)
        }
        entries.removeAll { $0.id == id }
    }

    /// What has expired and does not run is set aside.
    mutating func expire() {
        for entry in waiting where entry.expiresAt.map({ $0 <= now }) ?? false {
            remove(entry.id, hasFailed: true)
        }
    }

    /// An action has gone.
    mutating func remove(_ id: Int64, hasFailed: Bool = false) {
        if hasFailed, let entry = entries.first(where: { $0.id == id }) { closed.formUnion(entry.starts) }
        entries.removeAll { $0.id == id }
    }
}
