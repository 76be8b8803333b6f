#if Web
internal import Foundation
internal import Synchronization

/// An act on many subjects, which runs in batches and can be stopped.
final class Job: Sendable {
    struct Progress: Sendable {
        /// How many subjects had each result.
        var results: [String: Int] = [:]
        /// The first errors, with the subject of each.
        var errors: [String] = []
        var isStopped = false
        var end: Date?

        var count: Int { results.values.reduce(0, +) }

        fileprivate var words: String {
            let counts = results.sorted { $0.value > $1.value }.map { "\($0.value) \($0.key)" }
            return counts.isEmpty ? "nothing done" : counts.joined(separator: ", ")
        }
    }

    let id: Int
    /// Its name in the audit log, which no job of another process has.
    let name: String
    let sentence: String
    let person: Operator
    let start = Date()
    let total: Int
    /// The page that it was started from, below the prefix.
    let place: String
    private let progress = Mutex(Progress())

    /// Acts that are done at the same time: their commits are shared.
    private static let batch = 50
    private static let errorLimit = 20
    /// How many notes of its progress the audit log gets, for the case that its process ends.
    private static let noteCount = 20

    init(id: Int, name: String, _ sentence: String, by person: Operator, total: Int, place: String) {
        (self.id, self.name, self.sentence, self.person) = (id, name, sentence, person)
        (self.total, self.place) = (total, place)
    }

    var now: Progress { progress.withLock { $0 } }

    /// Lets the current batch be the last.
    func stop() { progress.withLock { $0.isStopped = true } }

    /// Acts on all, and returns when all are done, or when it has been stopped.
    ///
    /// - Parameter note: Called when another part has been done.
    func run(
        _ subjects: [Subject],
        note: () async -> Void = {},
        act: @escaping @Sendable (Subject) async throws -> String
    ) async {
        let step = max(total / Self.noteCount, Self.batch)
        var next = step
        for first in stride(from: 0, to: subjects.count, by: Self.batch) {
            if Task.isCancelled { stop() }
            if now.isStopped { break }
            let batch = subjects[first..<min(first + Self.batch, subjects.count)]
            await withDiscardingTaskGroup { group in
                for subject in batch { group.addTask { await self.act(on: subject, act) } }
            }
            guard now.count >= next, now.count < total else { continue }
            await note()
            next = now.count + step
        }
    }

    /// Notes that all is done and written: whoever sees the end finds it in the audit log.
    func finish() { progress.withLock { $0.end = Date() } }

    private func act(on subject: Subject, _ act: @Sendable (Subject) async throws -> String) async {
        do {
            let word = try await act(subject)
            progress.withLock { $0.results[word, default: 0] += 1 }
        } catch {
            progress.withLock { progress in
                progress.results["failed", default: 0] += 1
                guard progress.errors.count < Self.errorLimit else { return }
                progress.errors.append("\(subject.words): \(error)")
            }
        }
    }

    /// How far it is, for the audit log.
    var progressNote: String { "\(LostJobs.progress)\(now.count) of \(total): \(now.words)" }

    /// Its sentence in the audit log: the name comes first, as a long sentence is cut.
    var auditedAct: String { "Job \(name): \(sentence)" }

    /// Returns the results of a moment in words.
    func summary(of progress: Progress) -> String {
        let words = progress.words
        return progress.isStopped ? "stopped after \(progress.count) of \(total): \(words)" : words
    }
}
#endif
