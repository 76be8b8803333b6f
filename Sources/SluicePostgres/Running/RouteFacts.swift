#if PostgreSQL
internal import Sluice

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// A route as the server gets it: see `sluice_register`.
struct RouteFacts: Encodable {
    private var route: Int
    private var pattern: String
    private var kind: String?
    private var gates: [String]
    private var crashLimit: Int?
    private var expired: String
    private var crashed: String
    private var rate: String?
    private var rateInterval: String?
    private var rateTolerance: String?

    private init(_ route: RouteRegistration) {
        (self.route, pattern, kind) = (route.id.rawValue, route.pattern.rawValue, route.kind)
        gates = route.gates.map(\.rawValue)
        crashLimit = route.crashLimit == .max ? nil : route.crashLimit
        (expired, crashed) = (route.failure.expired.rawValue, route.failure.crashed.rawValue)
        rate = route.rate?.name
        rateInterval = route.rate?.interval.postgresText
        rateTolerance = route.rate?.tolerance.postgresText
    }

    /// All routes as JSON.
    static func json(_ routes: [RouteRegistration]) -> String {
        guard let data = try? JSONEncoder().encode(routes.map(RouteFacts.init)) else {
            preconditionFailure("routes cannot be encoded")
        }
        return String(decoding: data, as: UTF8.self)
    }
}
#endif
