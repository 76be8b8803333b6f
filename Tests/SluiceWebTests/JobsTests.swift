#if Web
import Foundation
import Sluice
import SluiceTestKit
import Synchronization
import TestSupport
import Testing

@testable import SluiceWeb

@Suite("Acts on many", .watched(minutes: 1))
struct JobsTests {
    private let ada = Operator(name: "ada", role: .act)

    private func entry(_ act: String, _ result: String, at seconds: Double = 0) -> AuditEntry {
        AuditEntry(time: Date(timeIntervalSince1970: seconds), person: "ada", act: act, result: result)
    }

    @Test("A job counts every result, also of many at once, and notes its progress some twenty times")
    func counts() async {
        let job = Job(id: 1, name: "1-0", "Hold", by: ada, total: 5_000, place: "/")
        let subjects = (0..<5_000).map { Subject.queue(QueueName("conversation/customer-number-\($0)")) }
        let notes = Mutex<[String]>([])
        await job.run(subjects) {
            notes.withLock { $0.append(job.progressNote) }
        } act: { subject in
            guard subject.words.hasSuffix("7") else { return "held" }
            throw PageError(.conflict, "no")
        }
        #expect(job.now.results == ["held": 4_500, "failed": 500])
        #expect(job.now.errors.allSatisfy { $0.hasPrefix("queue conversation/customer-number-") })
        #expect(notes.withLock { $0.first } == "so far 250 of 5000: 225 held, 25 failed")
        #expect(notes.withLock { $0.count } == 19)
    }

    @Test("A job whose last note is not its end is open; of its progress the last note is shown")
    func open() {
        let entries = [
            entry("Job 1-0000000a: Hold: all", "so far 500 of 5000: 500 held"),
            entry("Job 2-0000000a: Clear: all", "5000 removed"),
            entry("Job 2-0000000a: Clear: all", "so far 250 of 5000: 250 removed"),
            entry("Hold: queue a", "held"),
            entry("Job 1-0000000a: Hold: all", "so far 250 of 5000: 250 held"),
            entry("Job 2-0000000a: Clear: all", "begun, 5000 in all: a, b"),
            entry("Job 1-0000000a: Hold: all", "begun, 5000 in all: a, b"),
            entry("Job 1-0000000b: Open: all", "begun, 7 in all: a, b"),
            entry("Enqueue an action of kind Job 1-0000000c: x", "begun, "),
        ]
        let open = LostJobs.open(entries)
        #expect(open.map(\.job) == ["1-0000000a", "1-0000000b"])
        #expect(open.map(\.entry.result) == ["so far 500 of 5000: 500 held", "begun, 7 in all: a, b"])
        #expect(
            LostJobs.withoutOldProgress(entries).map(\.result).filter { $0.hasPrefix("so far") }.count == 1
        )
        #expect(LostJobs.withoutOldProgress(entries).count == 7)
    }

    @Test("Jobs of two processes have different names, with the same number")
    func names() {
        let (one, other) = (Jobs(), Jobs())
        let job = one.start("Hold", by: ada, total: 1, place: "/") { _ in }
        #expect(job.name.wholeMatch(of: #/1-[0-9a-f]{8}/#) != nil)
        #expect(one.has(job.name))
        #expect(!other.has(job.name))
    }
}
#endif
