import TestSupport
import Testing

@testable import Sluice

@Suite("When the log is copied", .watched)
struct CheckpointPolicyTests {
    private func policy(after commits: Int, isSynced: Bool) -> CheckpointPolicy {
        var policy = CheckpointPolicy()
        for _ in 0..<commits { policy.committed(isSynced: isSynced) }
        return policy
    }

    @Test("Small synced commits have a short log copied")
    func small() {
        var policy = policy(after: 330, isSynced: true)
        let (before, then) = (policy.isDue(at: 999), policy.isDue(at: 1_000))
        #expect(!before && then)
    }

    @Test(
        "Large commits and those without a sync wait for a long one",
        arguments: [(10, true), (5_000, false)]
    )
    func large(commits: Int, isSynced: Bool) {
        var policy = policy(after: commits, isSynced: isSynced)
        let (before, then) = (policy.isDue(at: 9_999), policy.isDue(at: 10_000))
        #expect(!before && then)
    }

    @Test("After a checkpoint the log grows by as much again, be it from there or anew")
    func again() {
        var policy = CheckpointPolicy()
        policy.checkpointed(at: 10_000)
        let pinned = (policy.isDue(at: 19_999), policy.isDue(at: 20_000))
        #expect(!pinned.0 && pinned.1, "a reader pins the log, which goes on")
        policy.checkpointed(at: 20_000)
        let anew = (policy.isDue(at: 5), policy.isDue(at: 9_999), policy.isDue(at: 10_000))
        #expect(!anew.0 && !anew.1 && anew.2)
    }

    @Test("G12: beside a reader that stays, tries take a thirtieth of the time at most")
    func inVain() {
        var policy = CheckpointPolicy()
        let start = Duration.seconds(9)
        let end = start + .milliseconds(10)
        policy.ended(copied: 5_000, of: 20_000, since: start, now: end)
        #expect(policy.mayTry(at: end), "it has copied a part")
        policy.ended(copied: 5_000, of: 20_000, since: start, now: end)
        #expect(!policy.mayTry(at: end + .milliseconds(319)) && policy.mayTry(at: end + .milliseconds(320)))
        policy.ended(copied: 5_000, of: 90_000, since: start, now: start + .seconds(1))
        #expect(!policy.mayTry(at: start + .milliseconds(2_999)) && policy.mayTry(at: start + .seconds(3)))
        policy.ended(copied: 90_000, of: 90_000, since: start, now: end)
        #expect(policy.mayTry(at: end), "the reader has ended")
    }

    @Test("After a checkpoint of others has refused a try, the next one is made soon, and not at once")
    func refused() {
        var policy = CheckpointPolicy()
        let now = Duration.seconds(9)
        policy.refused(now: now)
        #expect(!policy.mayTry(at: now + .milliseconds(99)) && policy.mayTry(at: now + .milliseconds(100)))
    }
}
