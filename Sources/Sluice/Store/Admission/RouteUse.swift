/// Counts this process's runs on each route with a limit, until their outcome is written or refused.
struct RouteUse {
    private var counts: [RouteID: Int] = [:]
    private var routes: [Int64: RouteID] = [:]
    /// Claims added and removed by the open transaction.
    private var (came, went): ([Int64], [(claim: Int64, route: RouteID)]) = ([], [])

    func isFree(_ route: Admission.Entry) -> Bool {
        guard let limit = route.concurrency else { return true }
        return counts[route.id, default: 0] < limit
    }

    mutating func begin(_ claim: Int64, of route: Admission.Entry) {
        guard route.concurrency != nil else { return }
        add(claim, route.id)
        came.append(claim)
    }

    mutating func end(_ claim: Int64) {
        guard !routes.isEmpty, let route = remove(claim) else { return }
        went.append((claim, route))
    }

    mutating func committed() {
        if !came.isEmpty { came.removeAll() }
        if !went.isEmpty { went.removeAll() }
    }

    mutating func rolledBack() {
        for (claim, route) in went { add(claim, route) }
        for claim in came { _ = remove(claim) }
        committed()
    }

    private mutating func add(_ claim: Int64, _ route: RouteID) {
        routes[claim] = route
        counts[route, default: 0] += 1
    }

    private mutating func remove(_ claim: Int64) -> RouteID? {
        guard let route = routes.removeValue(forKey: claim) else { return nil }
        counts[route, default: 0] -= 1
        // Routes come and go while the broker runs.
        if counts[route] == 0 { counts[route] = nil }
        return route
    }
}
