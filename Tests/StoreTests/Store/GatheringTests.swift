import TestSupport
import Testing

@testable import Sluice

@Suite("Gathering a group", .watched)
struct GatheringTests {
    private let gathering = Line()

    @Test("A caller who is alone never waits for others")
    func alone() {
        for _ in 0..<3 {
            #expect(!gathering.noteArrival())
            #expect(gathering.begin() == nil)
            gathering.took(1)
            gathering.committed(1, in: .milliseconds(4))
        }
    }

    @Test("After a shared sync, the next waits for as many, and half as long as that took")
    func shared() {
        gathering.committed(3, in: .milliseconds(4))
        #expect(!gathering.noteArrival())
        #expect(gathering.begin() == .milliseconds(2))
        #expect(!gathering.noteArrival())
        #expect(gathering.noteArrival(), "the third is the last that was waited for")
        #expect(gathering.end())
    }

    @Test("Where commits are fast, nobody waits for others")
    func fast() {
        gathering.committed(64, in: Gathering.slowCommit - .microseconds(1))
        _ = gathering.noteArrival()
        #expect(gathering.begin() == nil)
        gathering.committed(64, in: Gathering.slowCommit)
        #expect(gathering.begin() != nil)
    }

    @Test("The last one wakes the writer once, and only while it waits")
    func onlyOnce() {
        gathering.committed(2, in: .milliseconds(4))
        _ = gathering.noteArrival()
        _ = gathering.begin()
        #expect(gathering.noteArrival())
        #expect(!gathering.noteArrival())
        #expect(gathering.end())
        gathering.took(3)
        #expect(!gathering.noteArrival())
        #expect(!gathering.noteArrival())
    }

    @Test("Who expected others in vain does so once")
    func inVain() {
        gathering.committed(64, in: .milliseconds(4))
        _ = gathering.noteArrival()
        #expect(gathering.begin() != nil)
        #expect(!gathering.end(), "nobody has told the writer to go on")
        gathering.took(1)
        gathering.committed(1, in: .milliseconds(4))
        _ = gathering.noteArrival()
        #expect(gathering.begin() == nil)
    }

    @Test("A write that was taken back counts no more")
    func takenBack() {
        gathering.committed(2, in: .milliseconds(4))
        _ = gathering.noteArrival()
        gathering.left()
        #expect(!gathering.isWorthwhile, "nothing that is to be synced stands in line")
        _ = gathering.noteArrival()
        #expect(gathering.begin() != nil)
        #expect(gathering.noteArrival())
    }

    @Test("However long a sync takes, the wait is bounded")
    func bounded() {
        gathering.committed(2, in: .seconds(1))
        _ = gathering.noteArrival()
        #expect(gathering.begin() == Gathering.longestWait)
    }
}

/// A gathering by reference, as an expectation cannot hold a call that changes a value.
private final class Line {
    private var gathering = Gathering()

    var isWorthwhile: Bool { gathering.isWorthwhile }

    func noteArrival() -> Bool { gathering.noteArrival() }

    func left() { gathering.left() }

    func begin() -> Duration? { gathering.begin() }

    func end() -> Bool { gathering.end() }

    func took(_ count: Int) { gathering.took(count) }

    func committed(_ count: Int, in duration: Duration) { gathering.committed(count, in: duration) }
}
