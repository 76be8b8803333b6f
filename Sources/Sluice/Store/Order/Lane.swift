internal import DequeModule
internal import HeapModule

/// What memory knows of the order of one queue: its newest actions, and a stretch of those that have their
/// place in the file.
///
/// It may name an action that is gone, or twice, and whoever takes a place finds that out in the file; but it
/// leaves out none.
///
/// It is gone through from the front, or from the back where the last comes first.
struct Lane {
    /// The first place, as far as memory knows.
    enum First: Equatable {
        case place(Place)
        /// Nothing waits in the queue.
        case none
        /// The file may have an earlier one, or any at all: ``extend(_:limit:)`` first.
        case unknown
    }

    /// How much of the file's order stands in the stretch, or has gone from its front.
    private enum Reach {
        case nothing
        case through(Place)
        case everything
    }

    /// Arrivals in order.
    private var arrivals: Deque<Place> = []
    /// Arrivals out of order, and what was put back.
    private var strays: Heap<Place> = []
    private var stretch: Deque<Place> = []
    private var reach = Reach.nothing
    private var nextLimit = 1
    private(set) var isReversed = false
    /// How far the pass through the queue has come, where what fails is passed over.
    private(set) var pass: Pass?

    /// The most places that are read from the file at once.
    ///
    /// A queue that is asked once costs one; one that is worked through, a look-up for each 64.
    private static let stretchLimit = 64

    /// The first place, as far as memory knows.
    ///
    /// Mutating, so that a lane in a dictionary is asked where it stands and not copied.
    mutating func peek() -> First {
        if stretch.isEmpty {
            if case .everything = reach {} else { return .unknown }
        }
        if isReversed { return peekLast() }
        let candidates = (arrivals.first, strays.min, stretch.first)
        switch candidates {
        case (nil, nil, nil): return .none
        case (let place?, nil, nil), (nil, let place?, nil), (nil, nil, let place?): return .place(place)
        default:
            let least = [candidates.0, candidates.1, candidates.2].lazy.compactMap { $0 }.min()
            return least.map(First.place) ?? .none
        }
    }

    private func peekLast() -> First {
        [arrivals.last, strays.max, stretch.first].lazy.compactMap { $0 }.max().map(First.place) ?? .none
    }

    /// Adds a place, wherever it belongs.
    mutating func add(_ place: Place) {
        if let pass, pass.keep(place) { return }
        if let last = arrivals.last, place < last {
            strays.insert(place)
        } else {
            arrivals.append(place)
        }
    }

    /// Takes a place away if it comes first, as often as it does.
    mutating func removeFirst(_ place: Place) {
        if isReversed {
            while arrivals.last == place { arrivals.removeLast() }
            while strays.max == place { strays.removeMax() }
        } else {
            while arrivals.first == place { arrivals.removeFirst() }
            while strays.min == place { strays.removeMin() }
        }
        while stretch.first == place { stretch.removeFirst() }
    }

    /// Takes away, of the arrivals, up to a number of those that come behind a place and are not newer than
    /// an action.
    mutating func removeArrivals(
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

    /// The first of the arrivals.
    var firstArrival: ActionID? { (arrivals.first ?? strays.min ?? pass?.passed.first)?.action }

    /// How many places it has, the same one as often as it does.
    var placeCount: Int { arrivals.count + strays.count + stretch.count }

    /// Whether there is nothing that the file would not tell again, nor how far a pass has come that rests.
    var isForgettable: Bool {
        arrivals.isEmpty && strays.isEmpty && pass.map { $0.passed.isEmpty && $0.mark == nil } ?? true
    }

    /// The arrivals and what was put back, in no order; some may be gone, and some named twice.
    var arrived: [Place] { Array(arrivals) + strays.unordered + (pass?.passed ?? []) }
}

// MARK: - The order in the file

extension Lane {
    /// What to read from the file: so many places behind this one, in the direction in which the lane is gone
    /// through; `nil` is from the first.
    var extent: (after: Place?, limit: Int) {
        let mark = pass?.mark
        guard case .through(let place) = reach else { return (mark, nextLimit) }
        return (mark.map { max($0, place) } ?? place, nextLimit)
    }

    /// Adds the places that were read for ``extent``.
    mutating func extend(_ places: [Place], limit: Int) {
        stretch.append(contentsOf: places)
        if places.count < limit {
            reach = .everything
        } else if let last = places.last {
            reach = .through(last)
        }
        nextLimit = min(limit * 2, Self.stretchLimit)
    }

    /// Forgets the actions that have got their place in the file, and what was read of it before.
    mutating func forget(through last: ActionID) {
        arrivals.removeAll { $0.action.rawValue <= last.rawValue }
        if !strays.isEmpty {
            strays = Heap(strays.unordered.filter { $0.action.rawValue > last.rawValue })
        }
        pass?.passed.removeAll { $0.action.rawValue <= last.rawValue }
        forgetStretch()
    }

    private mutating func forgetStretch() {
        stretch = []
        reach = .nothing
        nextLimit = 1
    }

    /// Is gone through in a direction from now on.
    mutating func turn(isReversed: Bool) {
        guard self.isReversed != isReversed else { return }
        self.isReversed = isReversed
        forgetStretch()
    }
}

extension Lane {
    /// Goes through the queue in passes, of which one has come to a mark.
    mutating func beginPasses(at mark: Place?, isWorthRepeating: Bool) {
        pass = Pass(mark: mark, isWorthRepeating: isWorthRepeating)
        if let mark { moveMark(to: mark) }
    }

    /// Goes on with a pass whose mark has been read again.
    mutating func resumePass(at mark: Place?, isWorthRepeating: Bool) {
        guard let pass else { return }
        let newcomers = pass.update()
        let isBehindOne = mark.map { mark in newcomers.contains { $0 <= mark } } ?? false
        if isWorthRepeating || isBehindOne { pass.isWorthRepeating = true }
        let later = pass.passed.filter { place in mark.map { $0 < place } ?? true }
        if !later.isEmpty {
            strays.insert(contentsOf: later)
            pass.passed.removeAll { place in mark.map { $0 < place } ?? true }
        }
        guard pass.mark != mark else { return }
        forgetStretch()
        pass.mark = mark
        if let mark { moveMark(to: mark) }
    }

    /// Goes on behind a place.
    mutating func moveMark(to mark: Place) {
        guard let pass else { return }
        pass.mark = mark
        while let first = arrivals.first, first <= mark { pass.passed.append(arrivals.removeFirst()) }
        while let first = strays.min, first <= mark { pass.passed.append(strays.removeMin()) }
        // The file tells these again.
        while let first = stretch.first, first <= mark { stretch.removeFirst() }
    }

    /// Goes on at the front.
    mutating func endPass() {
        guard let pass else { return }
        strays.insert(contentsOf: pass.passed)
        pass.passed = []
        pass.mark = nil
        pass.isWorthRepeating = false
        forgetStretch()
    }

    /// Is gone through as a whole, or by a mark that is yet to be read.
    mutating func forgetPasses() {
        endPass()
        pass = nil
    }
}
