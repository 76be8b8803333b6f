internal import DequeModule
internal import HeapModule

/// What memory knows of the order of one queue: its newest actions, and a stretch of those that have their
/// place in the file.
///
/// It may name an action that is gone, or twice, and whoever takes a place finds that out in the file; but it
/// leaves out none.
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
        let candidates = (arrivals.first, strays.min, stretch.first)
        switch candidates {
        case (nil, nil, nil): return .none
        case (let place?, nil, nil), (nil, let place?, nil), (nil, nil, let place?): return .place(place)
        default:
            let least = [candidates.0, candidates.1, candidates.2].lazy.compactMap { $0 }.min()
            return least.map(First.place) ?? .none
        }
    }

    /// Adds a place, wherever it belongs.
    mutating func add(_ place: Place) {
        if let last = arrivals.last, place < last {
            strays.insert(place)
        } else {
            arrivals.append(place)
        }
    }

    /// Takes a place away if it comes first, as often as it does.
    mutating func removeFirst(_ place: Place) {
        while arrivals.first == place { arrivals.removeFirst() }
        while strays.min == place { strays.removeMin() }
        while stretch.first == place { stretch.removeFirst() }
    }

    /// Takes away, of the arrivals, up to a number of those that sort behind a place and are not newer than
    /// an action.
    mutating func removeArrivals(
        behind first: Place,
        through last: ActionID,
        sparing spared: Set<ActionID>,
        limit: Int
    ) -> [Place] {
        var taken: [Place] = []
        func isTaken(_ place: Place) -> Bool {
            guard taken.count < limit, place.action <= last, first < place else { return false }
            if spared.contains(place.action) { return false }
            taken.append(place)
            return true
        }
        arrivals.removeAll(where: isTaken)
        strays = Heap(strays.unordered.filter { !isTaken($0) })
        return taken
    }

    /// The first of the arrivals.
    var firstArrival: ActionID? { arrivals.first?.action ?? strays.min?.action }

    /// How many places it has, the same one as often as it does.
    var placeCount: Int { arrivals.count + strays.count + stretch.count }

    /// Whether there is nothing that the file would not tell again.
    var holdsNoArrivals: Bool { arrivals.isEmpty && strays.isEmpty }
}

// MARK: - The order in the file

extension Lane {
    /// What to read from the file: so many places behind this one; `nil` is from the first.
    var extent: (after: Place?, limit: Int) {
        if case .through(let place) = reach { (place, nextLimit) } else { (nil, nextLimit) }
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
        stretch = []
        reach = .nothing
        nextLimit = 1
    }
}
