internal import DequeModule
internal import HeapModule

/// Holds the order of one queue in memory: its newest actions, and a stretch of the order on disk.
///
/// It may contain deleted actions, or one twice; a caller checks each place in the file. It lacks no waiting
/// action. It is read from the front, or from the back if the last action runs first.
///
/// A class: changing a struct in a dictionary in place takes more work.
final class Lane {
    enum First: Equatable {
        case place(Place)
        case none
        /// The order on disk may have an earlier place, or any at all: call ``extend(_:limit:)`` first.
        case unknown
    }

    private enum Reach {
        case nothing
        case through(Place)
        case everything
    }

    @exclusivity(unchecked) private var arrivals: Deque<Place> = []
    /// Arrivals out of order, and places that were put back.
    @exclusivity(unchecked) private var strays: Heap<Place> = []
    @exclusivity(unchecked) private var stretch: Deque<Place> = []
    private var reach = Reach.nothing
    private var nextLimit = 1
    private(set) var isReversed = false
    /// The progress of the pass through the queue, if the discipline passes over failed actions.
    private(set) var pass: Pass?

    /// The most places read from disk at once: one for a queue polled once, 64 for one worked through.
    private static let stretchLimit = 64

    func peek() -> First {
        if stretch.isEmpty {
            if case .everything = reach {} else { return .unknown }
        }
        if isReversed {
            return [arrivals.last, strays.max, stretch.first].lazy.compactMap { $0 }.max().map(First.place)
                ?? .none
        }
        switch (arrivals.first, strays.min, stretch.first) {
        case (nil, nil, nil): return .none
        case (let place?, nil, nil), (nil, let place?, nil), (nil, nil, let place?): return .place(place)
        case (let a, let b, let c):
            return [a, b, c].lazy.compactMap { $0 }.min().map(First.place) ?? .none
        }
    }

    func add(_ place: Place) {
        if let pass, pass.keep(place) { return }
        if let last = arrivals.last, place < last { strays.insert(place) } else { arrivals.append(place) }
    }

    /// Removes a place if it is the first, as often as it occurs.
    func removeFirst(_ place: Place) {
        if isReversed {
            while arrivals.last == place { arrivals.removeLast() }
            while strays.max == place { strays.removeMax() }
        } else {
            while arrivals.first == place { arrivals.removeFirst() }
            while strays.min == place { strays.removeMin() }
        }
        while stretch.first == place { stretch.removeFirst() }
    }

    /// Removes up to `limit` arrivals that sort after a place and are no newer than `last`.
    func removeArrivals(
        behind first: Place,
        isReversed: Bool,
        through last: ActionID,
        sparing spared: Set<ActionID>,
        limit: Int
    ) -> [Place] {
        var taken: [Place] = []
        func isTaken(_ place: Place) -> Bool {
            guard taken.count < limit, place.action <= last else { return false }
            guard isReversed ? place < first : first < place else { return false }
            if spared.contains(place.action) { return false }
            taken.append(place)
            return true
        }
        arrivals.removeAll(where: isTaken)
        strays = Heap(strays.unordered.filter { !isTaken($0) })
        pass?.passed.removeAll(where: isTaken)
        return taken
    }

    var firstArrival: ActionID? { (arrivals.first ?? strays.min ?? pass?.passed.first)?.action }
    var placeCount: Int { arrivals.count + strays.count + stretch.count }

    /// Whether the file could restore everything here, and no pass is under way.
    var isForgettable: Bool {
        arrivals.isEmpty && strays.isEmpty && pass.map { $0.passed.isEmpty && $0.mark == nil } ?? true
    }

    /// The arrivals and the places put back, in no order; they may be deleted or occur twice.
    var arrived: [Place] { Array(arrivals) + strays.unordered + (pass?.passed ?? []) }

    /// The places to read from disk, in the lane's direction: after this one, or the first ones.
    var extent: (after: Place?, limit: Int) {
        let mark = pass?.mark
        guard case .through(let place) = reach else { return (mark, nextLimit) }
        return (mark.map { max($0, place) } ?? place, nextLimit)
    }

    func extend(_ places: [Place], limit: Int) {
        stretch.append(contentsOf: places)
        if places.count < limit {
            reach = .everything
        } else if let last = places.last {
            reach = .through(last)
        }
        nextLimit = min(limit * 2, Self.stretchLimit)
    }

    /// Forgets actions that have got their places on disk, and the stretch read before.
    func forget(through last: ActionID) {
        arrivals.removeAll { $0.action.rawValue <= last.rawValue }
        if !strays.isEmpty { strays = Heap(strays.unordered.filter { $0.action.rawValue > last.rawValue }) }
        pass?.passed.removeAll { $0.action.rawValue <= last.rawValue }
        forgetStretch()
    }

    private func forgetStretch() { (stretch, reach, nextLimit) = ([], .nothing, 1) }

    func turn(isReversed: Bool) {
        guard self.isReversed != isReversed else { return }
        self.isReversed = isReversed
        forgetStretch()
    }

    func beginPasses(at mark: Place?, isWorthRepeating: Bool) {
        pass = Pass(mark: mark, isWorthRepeating: isWorthRepeating)
        if let mark { moveMark(to: mark) }
    }

    func resumePass(at mark: Place?, isWorthRepeating: Bool) {
        guard let pass else { return }
        let newcomers = pass.update()
        let isBehindOne = mark.map { mark in newcomers.contains { $0 <= mark } } ?? false
        if isWorthRepeating || isBehindOne { pass.isWorthRepeating = true }
        func isLater(_ place: Place) -> Bool { mark.map { $0 < place } ?? true }
        strays.insert(contentsOf: pass.passed.filter(isLater))
        pass.passed.removeAll(where: isLater)
        guard pass.mark != mark else { return }
        forgetStretch()
        pass.mark = mark
        if let mark { moveMark(to: mark) }
    }

    func moveMark(to mark: Place) {
        guard let pass else { return }
        pass.mark = mark
        while let first = arrivals.first, first <= mark { pass.passed.append(arrivals.removeFirst()) }
        while let first = strays.min, first <= mark { pass.passed.append(strays.removeMin()) }
        // These are read from disk again.
        while let first = stretch.first, first <= mark { stretch.removeFirst() }
    }

    func endPass() {
        guard let pass else { return }
        strays.insert(contentsOf: pass.passed)
        (pass.passed, pass.mark, pass.isWorthRepeating) = ([], nil, false)
        forgetStretch()
    }

    func forgetPasses() {
        endPass()
        pass = nil
    }
}
