#if Web
internal import Foundation
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import Sluice
internal import Synchronization

/// Sends the parts of a page that have changed, as Server-Sent Events, once a second at most.
struct LiveUpdates: Sendable {
    private struct Part: Encodable {
        let id: String
        let html: String
    }

    let page: OperatorPage
    let seat: LiveSeats.Seat
    let route: OperatorPage.Route
    let visit: Visit
    let path: String
    let query: Form
    /// Whether the person may still look: live updates outlast a login.
    let mayLook: @Sendable () async throws -> Bool

    /// The time between two looks.
    private static let interval: Duration = .seconds(1)
    /// Sent at once, so that browsers and proxies know that the stream has begun: the time between two tries.
    private static let beginning = "retry: 3000\n\n"
    /// After so many looks a page is made again, even if no queue has changed: gates and holds may have.
    private static let longest = 5

    var response: Response {
        var headers = RequestGate.headers(type: "text/event-stream")
        // nginx would collect the updates.
        if let name = HTTPField.Name("X-Accel-Buffering") { headers[name] = "no" }
        return Response(
            status: .ok,
            headers: headers,
            body: ResponseBody(asyncSequence: events)
        )
    }

    /// The updates; a comment, every few seconds, finds out whether the browser is still there.
    private var events: AsyncThrowingStream<ByteBuffer, any Error> {
        let memory = Memory()
        return AsyncThrowingStream {
            switch memory.nextCall() {
            case 1: return ByteBuffer(string: Self.beginning)
            // In a flood of strangers, most have lost their seats until then, and no page is made for them.
            case 2 where visit.holder == nil: try await page.options.clock.sleep(for: Self.interval)
            default: break
            }
            while page.isServing, !Task.isCancelled, seat.isKept, try await mayLook() {
                if let text = try await news(memory) { return ByteBuffer(string: text) }
                try await page.options.clock.sleep(for: Self.interval)
            }
            return nil
        }
    }

    /// The parts that one browser has; used by one task at a time.
    private final class Memory: Sendable {
        struct Sent: Sendable {
            var parts: [String: String] = [:]
            var version = -1
            var looks = 0
            var callCount = 0
        }

        let sent = Mutex(Sent())

        /// The number of a call for more.
        func nextCall() -> Int {
            sent.withLock { sent in
                sent.callCount += 1
                return sent.callCount
            }
        }
    }

    private func news(_ memory: Memory) async throws -> String? {
        let version = page.board.totals.version
        let isDue = memory.sent.withLock { sent in
            sent.looks -= 1
            guard version != sent.version || sent.looks <= 0 else { return false }
            (sent.version, sent.looks) = (version, Self.longest)
            return true
        }
        guard isDue else { return nil }
        let parts = try await parts()
        let changed = memory.sent.withLock { sent in
            let earlier = sent.parts
            sent.parts = Dictionary(parts.map { ($0.id, Self.withoutAges($0.html)) }) { $1 }
            return parts.filter { earlier[$0.id] != sent.parts[$0.id] }
        }
        guard !changed.isEmpty else { return ":\n\n" }
        return try changed.map { part in
            "event: part\ndata: \(String(decoding: try JSONEncoder().encode(part), as: UTF8.self))\n\n"
        }
        .joined()
    }

    /// The script updates ages itself; an update for them alone would end a selection of text.
    private static func withoutAges(_ html: String) -> String {
        html.replacing(#/(<time [^>]*>)[^<]*/#) { $0.1 }
    }

    private func parts() async throws -> [Part] {
        var now = Visit(path: path, query: query, prefix: visit.prefix, now: Date())
        (now.session, now.person, now.isLive) = (visit.session, visit.person, true)
        var parts: [Part] = []
        var problem: String?
        // If the stream ended, browsers would try it again for ever, and say that the connection is lost.
        do {
            parts = try await route.make(page, now).parts.map { Part(id: $0.id, html: $0.html.text) }
        } catch let error as PageError {
            problem = error.message
        } catch let error as SluiceError {
            problem = error.message
        }
        return parts + [Part(id: Layout.errorPart, html: Layout.error(page.error ?? problem).text)]
    }
}
#endif
