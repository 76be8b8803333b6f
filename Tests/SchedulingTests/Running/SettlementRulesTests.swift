import Foundation
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("What follows from what a handler said", .watched) struct SettlementRulesTests {
    private static let attempt = Attempt(
        id: ActionID(rawValue: 1),
        queue: "q",
        kind: "note",
        version: 1,
        number: 2,
        nonce: 1,
        enqueuedAt: Date(timeIntervalSince1970: 0),
        lastError: nil
    )

    private static func settlement(
        _ result: HandlerResult,
        _ reason: CancelReason? = nil,
        retry: RetryPolicy = .fixed(.seconds(7)),
        failure: FailurePolicies = FailurePolicies(failed: .skip, exhausted: .failQueue, undecodable: .skip)
    ) -> Settlement {
        var generator: any RandomNumberGenerator = SplitMix(seed: 1)
        let options = RouteOptions(retry: retry, failure: failure, timeout: .seconds(5))
        return Settlement(
            of: result,
            attempt: attempt,
            cancelledBy: reason,
            options: options,
            using: &generator
        )
    }

    @Test(
        "A success stands, whatever the attempt was cancelled for",
        arguments: [
            nil, .timeout, .stop, .removal,
        ] as [CancelReason?]
    )
    func success(_ reason: CancelReason?) {
        #expect(Self.settlement(.outcome(.success), reason) == .success)
    }

    @Test("A retry without a delay waits as its policy says, one with a delay as it says itself")
    func retry() {
        let text = "the handler asked for a retry"
        #expect(Self.settlement(.outcome(.retry)) == .retry(after: .seconds(7), error: text))
        #expect(Self.settlement(.outcome(.retry(after: .zero))) == .retry(after: .zero, error: text))
        #expect(
            Self.settlement(.outcome(.retry(after: .seconds(99)))) == .retry(after: .seconds(99), error: text)
        )
    }

    @Test("An outcome that closes a gate waits for it; with a name that no gate can have it only waits")
    func closing() {
        let text = "the handler asked for a retry"
        #expect(
            Self.settlement(.outcome(.retry(after: .seconds(9), closing: "server")))
                == .retry(after: .seconds(9), untilOpen: "server", closes: true, error: text)
        )
        #expect(
            Self.settlement(.outcome(.release(after: .zero, closing: "server", because: "busy")))
                == .release(after: .seconds(1), untilOpen: "server", closes: true, error: "busy")
        )
        #expect(
            Self.settlement(.outcome(.retry(after: .seconds(9), closing: "")))
                == .retry(after: .seconds(9), error: text)
        )
        #expect(
            Self.settlement(.outcome(.release(after: .seconds(9), closing: "a\0b")))
                == .release(after: .seconds(9))
        )
    }

    @Test("G10: what no route takes is given back for a minute; a cancelled attempt ends by its reason")
    func declined() {
        let text = "every route answered that the action is not its own"
        #expect(Self.settlement(.outcome(.declined)) == .release(after: .seconds(60), error: text))
        #expect(Self.settlement(.outcome(.declined), .stop) == .stop)
        let late = Self.settlement(.outcome(.declined), .timeout)
        #expect(late == .retry(after: .seconds(7), error: "timed out after 5.0 seconds"))
    }

    @Test("A thrown error is a retry by the policy, with the error's text")
    func threw() {
        let settlement = Self.settlement(.threw(TestError("no network")))
        #expect(settlement == .retry(after: .seconds(7), error: "no network"))
    }

    @Test("The limit of attempts counts for retries with a delay of their own too")
    func exhausted() {
        let policy = RetryPolicy.fixed(.seconds(1)).limited(to: 2)
        let settlement = Self.settlement(.outcome(.retry(after: .seconds(9))), retry: policy)
        #expect(settlement == .fail(.exhausted, .failQueue, error: "the handler asked for a retry"))
        let thrown = Self.settlement(.threw(TestError("x")), retry: policy)
        #expect(thrown == .fail(.exhausted, .failQueue, error: "x"))
    }

    @Test("Halting parks the queue, whatever the failure policy says")
    func halted() {
        #expect(Self.settlement(.threw(TestError("x")), retry: .halt) == .fail(.failed, .block, error: "x"))
    }

    @Test("A failure and a payload that does not decode go by their own policies")
    func failures() {
        #expect(Self.settlement(.outcome(.fail("no room"))) == .fail(.failed, .skip, error: "no room"))
        #expect(Self.settlement(.undecodable("why")) == .fail(.undecodable, .skip, error: "why"))
        #expect(Self.settlement(.outcome(.release)) == .release(after: .seconds(1)))
    }

    @Test(
        "What a timeout cut short is retried, and says so",
        arguments: [
            HandlerResult.threw(CancellationError()), .threw(CompletionDropped()), .outcome(.retry),
        ]
    )
    func timeout(_ result: HandlerResult) {
        guard case .retry(.seconds(7), nil, _, let error) = Self.settlement(result, .timeout) else {
            Issue.record("no retry by the policy")
            return
        }
        #expect(error.hasPrefix("timed out"))
    }

    @Test(
        "What a stop cut short is given back, attempt and all",
        arguments: [
            HandlerResult.threw(CancellationError()), .threw(TestError("x")), .outcome(.retry),
            .outcome(.retry(after: .seconds(3))),
        ]
    )
    func stop(_ result: HandlerResult) {
        #expect(Self.settlement(result, .stop, retry: .halt) == .stop)
    }

    @Test("A permanent failure stands even when a stop or a timeout came first")
    func failureStands() {
        #expect(Self.settlement(.outcome(.fail("x")), .stop) == .fail(.failed, .skip, error: "x"))
        #expect(Self.settlement(.outcome(.fail("x")), .timeout) == .fail(.failed, .skip, error: "x"))
    }
}
