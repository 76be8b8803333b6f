internal import SluiceJSON

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// The routes, queue options and payload code of one broker, whatever keeps its queues.
package final class RouteBook: Sendable {
    let routes = Routes()
    let coder: PayloadCoder
    package let reader: PayloadReader
    package let drafter: Drafter
    /// Whether payloads are stored sealed.
    var sealsPayloads: Bool { coder.sealing != nil }
    /// The patterns of all routes, each once.
    package var patterns: [QueuePattern] { routes.current.patterns }

    package init(_ options: BrokerOptions) {
        coder = PayloadCoder(
            maximumByteCount: options.maximumPayloadByteCount,
            dates: options.payloadDates,
            sealing: options.payloadSealing,
            acceptsUnsealed: options.acceptsUnsealedPayloads
        )
        reader = PayloadReader(coder)
        drafter = Drafter(coder, routes, options.clock)
    }

    package func addUpgrader<A: Action, Old: Decodable & Sendable>(
        _ type: A.Type,
        from version: Int,
        reading old: Old.Type,
        _ upgrader: @escaping @Sendable (Old) throws -> A
    ) throws(SluiceError) {
        try addUpgrader(A.kind, from: version, to: A.version) { [coder] payload in
            try coder.encode(upgrader(JSONDecoder().decode(Old.self, checking: payload)))
        }
    }

    package func addUpgrader(
        _ kind: String,
        from version: Int,
        to target: Int,
        _ upgrader: @escaping PayloadReader.Upgrader
    ) throws(SluiceError) { try reader.add(kind, from: version, to: target, upgrader) }

    package func open(_ payload: String, _ kind: String, _ version: Int) throws(SluiceError) -> String {
        try coder.open(payload, SealingContext(kind: kind, version: version))
            .mapError { SluiceError(.undecodable, $0.reason) }.get()
    }

    package func setOptions(_ pattern: QueuePattern, _ options: QueueOptions) throws(SluiceError) {
        try routes.change { table throws(SluiceError) in try table.add(pattern, options) }
    }

    /// Sets other options of a pattern, or none, and returns the old ones.
    package func replaceOptions(
        _ pattern: QueuePattern,
        by options: QueueOptions?
    ) throws(SluiceError) -> QueueOptions? {
        try routes.change { table throws(SluiceError) in try table.replace(pattern, by: options) }
    }

    package func add<A: Action>(
        _ scope: RouteScope,
        _ options: RouteOptions,
        handler: @escaping @Sendable (A, Attempt) async throws -> Outcome
    ) throws(SluiceError) {
        try add(scope, [A.kind], options) { [reader] action, attempt in
            switch reader.read(A.self, from: action) {
            case .failure(let error): return .undecodable(error.reason)
            case .success(let input):
                do { return .outcome(try await handler(input, attempt)) } catch { return .threw(error) }
            }
        }
    }

    package func add<A: Action>(
        _ scope: RouteScope,
        _ options: RouteOptions,
        runBy runner: AttemptRunner,
        completing handler: @escaping @Sendable (A, Attempt, Completion) -> Void
    ) throws(SluiceError) {
        try add(scope, [A.kind], options) { [reader, runner] action, attempt in
            switch reader.read(A.self, from: action) {
            case .failure(let error): return .undecodable(error.reason)
            case .success(let input): return await runner.complete(attempt) { handler(input, attempt, $0) }
            }
        }
    }

    package func add<U: ActionUnion>(
        _ scope: RouteScope,
        _ options: RouteOptions,
        union handler: @escaping @Sendable (U, Attempt) async throws -> Outcome
    ) throws(SluiceError) {
        let cases = U.cases
        guard !cases.isEmpty else { throw SluiceError(.invalidOptions, "'\(U.self)' has no cases") }
        try add(scope, cases.map(\.kind), options) { [reader] action, attempt in
            guard let found = cases.first(where: { $0.kind == action.kind }) else {
                return .outcome(.declined)
            }
            switch found.read(reader, action) {
            case .failure(let error): return .undecodable(error.reason)
            case .success(let input):
                do { return .outcome(try await handler(input, attempt)) } catch { return .threw(error) }
            }
        }
    }

    /// Adds a route for any kind, whose handler gets the payload as stored, opened if it was sealed.
    package func addAnyKind(
        _ scope: RouteScope,
        _ options: RouteOptions,
        handler: @escaping @Sendable (_ payload: String, Attempt) async throws -> Outcome
    ) throws(SluiceError) {
        try add(scope, [nil], options) { [reader] action, attempt in
            switch reader.text(of: action) {
            case .failure(let error): return .undecodable(error.reason)
            case .success(let payload):
                do { return .outcome(try await handler(payload, attempt)) } catch { return .threw(error) }
            }
        }
    }

    private func add(
        _ scope: RouteScope,
        _ kinds: [String?],
        _ options: RouteOptions,
        perform: @escaping Route.Perform
    ) throws(SluiceError) {
        if case .pattern(let pattern) = scope { _ = try pattern.formOfRule() }
        try routes.change { table throws(SluiceError) in
            try table.add(scope, kinds: kinds, options: options, perform: perform)
        }
    }

    package func remove(_ pattern: QueuePattern, kind: String?) throws(SluiceError) -> Bool {
        try routes.change { table throws(SluiceError) in try table.remove(pattern, kind: kind) }
    }

    package func removeAll(_ pattern: QueuePattern) throws(SluiceError) -> Bool {
        try routes.change { table throws(SluiceError) in try table.removeAll(pattern) }
    }

    package func removePredicates() throws(SluiceError) -> Bool {
        try routes.change { table throws(SluiceError) in table.removeChoices() }
    }

    /// The routes by pattern, for an engine whose server chooses the heads.
    package var registrations: [RouteRegistration] { routes.registrations }

    /// The route with a number, if it has not been removed.
    package func route(_ id: RouteID) -> Route? { routes.current.route(id) }

    /// Returns the most specific route for an action, except routes that have been tried.
    package func route(for action: ClaimedAction, after tried: Set<RouteID>) -> Route? {
        routes.current.route(for: action, after: tried)
    }

    /// Releases the routes for good, with their handlers.
    package func close() { routes.drop() }
}
