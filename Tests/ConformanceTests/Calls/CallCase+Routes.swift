import Foundation
import Sluice
import SluiceTestKit
import TestSupport
import Testing

/// Calls that route, and what follows without a route.
extension CallCase {
    private typealias Routing = @Sendable (CallSite, QueuePattern, RouteOptions) throws -> Void

    private static let routings: [(String, Routing)] = [
        ("route(_:_:_:handler:)", { try $0.broker.route($1, Note.self, $2) { _, _ in .success } }),
        (
            "route(_:completing:_:handler:)",
            { try $0.broker.route($1, completing: Note.self, $2) { $2(.success) } }
        ),
        ("routeAnyKind(_:_:handler:)", { try $0.broker.routeAnyKind($1, $2) { _, _ in .success } }),
    ]

    private static let routeOptions: [(String, RouteOptions)] = [
        ("no options", RouteOptions()), ("a concurrency of 0", RouteOptions(concurrency: 0)),
        ("a timeout of zero", RouteOptions(timeout: .zero)),
        ("a negative timeout", RouteOptions(timeout: .seconds(-1))),
        ("a gate without a name", RouteOptions(gates: [""])), ("a gate", RouteOptions(gates: ["g"])),
        ("a gate twice", RouteOptions(gates: ["g", "g"])),
    ]

    static let routes: [CallCase] =
        routings.flatMap { call, route in
            oddPatterns.map { pattern in
                CallCase(call, words(for: pattern)) { site in
                    for time in ["once", "twice"] {
                        await site.note(time) { try route(site, pattern, RouteOptions()) }
                    }
                }
            }
                + routeOptions.map { words, options in
                    CallCase(call, words) { site in
                        await site.note("route") { try route(site, "q", options) }
                        try await site.broker.enqueue(Note("a", in: "q"))
                        try await site.broker.enqueue(Note("a", in: "nobody"))
                        await site.note("status") { try await site.broker.status(of: "q") }
                    }
                }
        } + [
            CallCase("run()", "no route for a queue and a kind") { site in
                try site.broker.route("probe", Note.self) { [started = site.started] note, _ in
                    started.append(note.text)
                    return .success
                }
                try site.broker.route("q", Note.self) { _, _ in .success }
                try await site.broker.enqueue(Note("a", in: "nobody"))
                try await site.broker.enqueue(Photo(album: "q", width: 1))
                try await site.begin()
                try await site.settle()
                for queue in ["nobody", "q"] {
                    await site.note(queue) { try await site.broker.status(of: QueueName(queue)) }
                }
                await site.note("stop") { await site.broker.stop(grace: .zero) }
                try await until { try await site.broker.status(of: "q").because.contains(.stopped) }
                for queue in ["nobody", "q"] {
                    await site.note(queue) { try await site.broker.status(of: QueueName(queue)) }
                }
            },
            CallCase("removePredicateRoutes()", "none") { site in
                await site.note("once") { try site.broker.removePredicateRoutes() }
            },
        ]
}
