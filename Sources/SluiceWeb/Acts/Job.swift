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
    }

    let id: Int
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

    init(id: Int, _ sentence: String, by person: Operator, total: Int, place: String) {
        (self.id, self.sentence, self.person) = (id, sentence, person)
        (self.total, self.place) = (total, place)
    }

    var now: Progress { progress.withLock { $0 } }

    /// Lets the current batch be the last.
    func stop() { progress.withLock { $0.isStopped = true } }

    /// Acts on all, and returns when all are done, or when it has been stopped.
    func run(_ subjects: [Subject], act: @escaping @Sendable (Subject) async throws -> String) async {
        for first in stride(from: 0, to: subjects.count, by: Self.batch) {
            if Task.isCancelled { stop() }
            if now.isStopped { break }
            let batch = subjects[first..<min(first + Self.batch, subjects.count)]
            await withTaskGroup(of: (Subject, Result<String, any Error>).self) { group in
                for subject in batch {
                    group.addTask {
                        do { return (subject, .success(try await act(subject))) } catch {
                            return (subject, .failure(error))
                        }
                    }
                }
                for await (subject, result) in group { note(result, subject.words) }
            }
        }
        progress.withLock { $0.end = Date() }
    }

    private func note(_ result: Result<String, any Error>, _ subject: String) {
        progress.withLock { progress in
            switch result {
            case .success(let word): progress.results[word, default: 0] += 1
            case .failure(let error):
                progress.results["failed", default: 0] += 1
                if progress.errors.count < Self.errorLimit { progress.errors.append("\(subject): \(error)") }
            }
        }
    }

    /// The results so far, in words.
    var summary: String {
        let progress = now
        let counts = progress.results.sorted { $0.value > $1.value }.map { "\($0.value) \($0.key)" }
        let words = counts.isEmpty ? "nothing done" : counts.joined(separator: ", ")
        return progress.isStopped ? "stopped after \(progress.count) of \(total): \(words)" : words
    }
}
#endif
