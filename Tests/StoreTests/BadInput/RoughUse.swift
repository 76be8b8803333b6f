import Foundation
import SluiceSQLite
import SluiceTestKit
import Synchronization
import TestSupport

@testable import EngineSupport
@testable import Sluice

/// Uses a file about which nothing is certain as an application, its operator and the tool would: looks at
/// it, opens it, runs it, enqueues, exports, closes.
struct RoughUse: Sendable {
    /// How long one use may take by the machine's clock before it counts as hanging: a hundred times what it
    /// takes.
    private static let patience = Duration.seconds(20)
    /// More pages of two queues than any file here has.
    private static let mostPages = 200
    /// So long after the start nothing of a ``FullFile`` waits for a time any more.
    private static let wait = Duration.seconds(3_600)

    /// Kept until the use is over.
    let place: TemporaryFile
    private var path: String { place.path }

    init(_ place: TemporaryFile) { self.place = place }

    /// What came of it.
    struct Report: Sendable {
        /// Each error that was told, with who was asked.
        fileprivate(set) var errors: [(task: String, error: any Error)] = []
        /// What the library must not do.
        fileprivate(set) var faults: [String] = []
        fileprivate(set) var ran: Set<ActionID> = []
        fileprivate(set) var newRan = false
        /// Whether what was enqueued was acknowledged.
        fileprivate(set) var newStored = false
        fileprivate(set) var exported: Set<ActionID> = []
        fileprivate(set) var dead: Set<ActionID> = []
        fileprivate(set) var isOpened = false
        /// Whether the doctor's look has named what is wrong.
        fileprivate(set) var isDamageFound = false

        func code(of task: String) -> SluiceError.Code? {
            errors.first { $0.task == task }.flatMap { ($0.error as? SluiceError)?.code }
        }
    }

    private final class Notes: Sendable {
        let report = Mutex(Report())
        let claims = Mutex<Set<Int64>>([])
        /// `run()` has returned.
        let isOver = Atomic(false)

        func fault(_ text: String) { report.withLock { $0.faults.append(text) } }
    }

    /// The queues of a ``FullFile`` that are not first in, first out.
    static func setDisciplines(of broker: Broker) throws {
        try broker.configure("pass/*", QueueOptions(discipline: .passOver))
        try broker.configure("wide/*", QueueOptions(discipline: .concurrent(2)))
        try broker.configure("batch/*", QueueOptions(start: .batch(count: 10, after: .seconds(30))))
    }

    func run() async -> Report {
        let notes = Notes()
        let facts = await ask("doctor", notes) { try FileFacts(of: path, isFull: true) }
        notes.report.withLock {
            $0.isDamageFound =
                facts.map { !$0.damages.isEmpty || !$0.strangers.isEmpty || $0.missingPlaceCount > 0 } ?? true
        }
        var options = BrokerOptions.on(ManualClock())
        options.file.foreignChangeInterval = .seconds(365 * 86_400)
        options.file.durability = .relaxed
        options.file.watchesWAL = false
        options.file.writeBehind.newest = 40
        options.file.writeBehind.batch = 20
        let clock = ManualClock()
        options.clock = clock
        let broker = await ask("open", notes) { [options] in try await Broker(file: path, options: options) }
        guard let broker else { return notes.report.withLock { $0 } }
        notes.report.withLock { $0.isOpened = true }
        await look(broker, notes)
        await work(broker, clock, notes)
        await look(broker, notes)
        await export(broker, notes)
        await broker.close(grace: .zero)
        return notes.report.withLock { $0 }
    }

    @discardableResult
    private func ask<Output: Sendable>(
        _ task: String,
        _ notes: Notes,
        _ body: () async throws -> Output
    ) async -> Output? {
        do {
            return try await body()
        } catch {
            notes.report.withLock { $0.errors.append((task, error)) }
            if !(error is SluiceError) { notes.fault("\(task) threw \(type(of: error)): \(error)") }
            return nil
        }
    }

    private func look(_ broker: Broker, _ notes: Notes) async {
        await ask("statuses", notes) {
            for status in try await broker.statuses() { _ = "\(status) \(status.because.map { "\($0)" })" }
        }
        await ask("status pages", notes) {
            let pages = Mutex(0)
            try await broker.fileEngine.store.queueFacts(.prefix([]), page: 2) { _, _ in
                pages.withLock { pages in
                    pages += 1
                    return pages <= Self.mostPages
                }
            }
            if pages.withLock({ $0 }) > Self.mostPages { notes.fault("the queues do not come to an end") }
        }
        await ask("summaries", notes) { _ = try await broker.actionSummaries().map { "\($0)" } }
        await ask("dead letters", notes) {
            let letters = try await broker.deadLetters()
            notes.report.withLock { $0.dead = Set(letters.map(\.id)) }
            for letter in letters { _ = try await broker.failedAttempts(of: letter.id) }
        }
        await ask("controls", notes) { _ = "\(try await broker.holds()) \(try await broker.gates())" }
        await ask("health", notes) { _ = "\(try await broker.fileEngine.store.health())" }
    }

    private func export(_ broker: Broker, _ notes: Notes) async {
        await ask("export", notes) {
            var last = ActionID(rawValue: .min)
            while true {
                let page = try await broker.fileEngine.store.page(
                    of: .prefix([]),
                    after: last,
                    limit: 50,
                    byteLimit: 100_000
                )
                guard let end = page.last else { return }
                guard end.id > last else { return notes.fault("the export does not come to an end") }
                last = end.id
                notes.report.withLock { $0.exported.formUnion(page.map(\.id)) }
            }
        }
    }
}

// MARK: - Running

extension RoughUse {
    private func work(_ broker: Broker, _ clock: ManualClock, _ notes: Notes) async {
        await ask("routes", notes) {
            try Self.setDisciplines(of: broker)
            try broker.route("*", Note.self) { note, attempt in
                let claim = attempt.claim ?? 0
                if !notes.claims.withLock({ $0.insert(claim).inserted }) {
                    notes.fault("claim \(claim) ran twice")
                }
                notes.report.withLock { report in
                    if note.text == "new" { report.newRan = true } else { report.ran.insert(attempt.id) }
                }
                return .success
            }
        }
        let isStored = await ask("enqueue", notes) { try await broker.enqueue(Note("new", in: "new")) } != nil
        notes.report.withLock { $0.newStored = isStored }
        await ask("operate", notes) {
            try await broker.openGate("shut")
            try await broker.openGate("route")
            _ = try await broker.endHolds(matching: "held/*")
            _ = try await broker.retryNow()
        }
        await withTaskGroup { group in
            group.addTask {
                await ask("run", notes) { try await broker.run() }
                notes.isOver.store(true, ordering: .releasing)
            }
            await rest(broker, notes)
            for _ in 0..<4 {
                clock.advance(by: Self.wait)
                await rest(broker, notes)
            }
            group.addTask { await broker.stop(grace: .zero) }
            await end(clock, notes)
        }
    }

    /// Lets time pass until the broker has stopped: what could not be written is tried once more.
    private func end(_ clock: ManualClock, _ notes: Notes) async {
        let end = ContinuousClock.now + Self.patience
        while !notes.isOver.load(ordering: .acquiring) {
            guard ContinuousClock.now < end else { return notes.fault("it does not stop") }
            clock.advance(by: .seconds(1))
            await Task.yield()
        }
    }

    /// Returns when the broker has done all that it can at this time of its clock, or has ended.
    private func rest(_ broker: Broker, _ notes: Notes) async {
        let end = ContinuousClock.now + Self.patience
        while !notes.isOver.load(ordering: .acquiring) && !broker.fileEngine.isAtRest(butFor: 0) {
            // One whose look for work fails makes it again when time has passed.
            if broker.fileEngine.scheduler.time(of: .pollOthers) != nil,
                broker.fileEngine.scheduler.isAtRest(butFor: 0)
            {
                return
            }
            guard ContinuousClock.now < end else { return notes.fault("it does not come to rest") }
            await Task.yield()
        }
    }
}
