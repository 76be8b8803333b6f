#if CommandLineTool
internal import Sluice

/// The model of a watch: keys and pictures in, acts and lines out; it uses neither terminal nor file.
struct WatchModel {
    /// What a key asks for.
    enum Intent: Hashable {
        case hold(QueueName)
        case resume(QueueName)
        case retry(QueueName)
        /// This action, if it would still be the one.
        case skip(QueueName, ActionID)
        /// Show its details.
        case open(QueueName)
        case quit
    }

    /// The current meaning of keys.
    enum Mode: Hashable {
        case lanes
        case filter
        case help
        case details
        /// Waits for a confirmation.
        case confirm(Intent)
    }

    private(set) var mode = Mode.lanes
    private(set) var filter = ""
    /// Shown below the lanes, until the next key.
    var message = ""
    private(set) var lanes: [WatchPicture.Lane] = []
    private(set) var picture = WatchPicture()
    private(set) var selection: QueueName?
    /// The queue that is shown alone.
    private(set) var details: WatchDetails?
    /// The first line of the details that is shown.
    private(set) var detailTop = 0
    /// The index of the selected lane.
    private(set) var selectedIndex = 0
    /// The first lane that is shown.
    private(set) var top = 0

    /// Shows a new picture; the selection stays with its queue, or else at its index.
    mutating func show(_ picture: WatchPicture) {
        self.picture = picture
        applyFilter()
    }

    /// Handles a key.
    ///
    /// - Parameter pageSize: How many lanes the screen shows.
    mutating func press(_ key: Key, pageSize: Int) -> Intent? {
        message = ""
        switch mode {
        case .help:
            mode = .lanes
            return nil
        case .confirm(let act):
            mode = .lanes
            return key == .character("y") ? act : nil
        case .filter:
            pressInFilter(key)
            return nil
        case .details:
            return pressInDetails(key, pageSize: pageSize)
        case .lanes:
            return pressInLanes(key, pageSize: pageSize)
        }
    }

    /// Scrolls so that the selected lane is visible.
    mutating func scroll(pageSize: Int) {
        top = min(top, selectedIndex)
        top = max(top, selectedIndex - pageSize + 1)
        top = max(min(top, lanes.count - pageSize), 0)
    }

    /// Shows the details of a queue, or newer ones of the same queue.
    mutating func open(_ details: WatchDetails) {
        if mode != .details { detailTop = 0 }
        self.details = details
        mode = .details
    }

    /// Scrolls no further than the last line of the details.
    mutating func scrollDetails(count: Int, pageSize: Int) {
        detailTop = max(min(detailTop, count - pageSize), 0)
    }

    private mutating func pressInDetails(_ key: Key, pageSize: Int) -> Intent? {
        switch key {
        case .up, .character("k"): detailTop -= 1
        case .down, .character("j"): detailTop += 1
        case .pageUp: detailTop -= pageSize
        case .pageDown: detailTop += pageSize
        case .home: detailTop = 0
        case .end: detailTop = Int.max / 2
        case .escape, .enter, .backspace: mode = .lanes
        case .character("q"): return .quit
        default: break
        }
        return nil
    }

    private mutating func pressInFilter(_ key: Key) {
        switch key {
        case .enter: mode = .lanes
        case .escape:
            mode = .lanes
            filter = ""
        case .backspace: if !filter.isEmpty { filter.removeLast() }
        case .character(let character): filter.append(character)
        default: break
        }
        applyFilter()
    }

    private mutating func pressInLanes(_ key: Key, pageSize: Int) -> Intent? {
        switch key {
        case .up, .character("k"): select(selectedIndex - 1)
        case .down, .character("j"): select(selectedIndex + 1)
        case .pageUp: select(selectedIndex - pageSize)
        case .pageDown: select(selectedIndex + pageSize)
        case .home: select(0)
        case .end: select(lanes.count - 1)
        case .character("/"): mode = .filter
        case .character("?"): mode = .help
        case .character("q"): return .quit
        case .escape:
            filter = ""
            applyFilter()
        case .character("p"):
            return selectedLane.map { $0.status.isHeld ? .resume($0.name) : .hold($0.name) }
        case .enter: return selectedLane.map { .open($0.name) }
        case .character("r"): return selectedLane.map { .retry($0.name) }
        case .character("s"): askToSkip()
        default: break
        }
        return nil
    }

    private mutating func askToSkip() {
        guard let lane = selectedLane, let action = lane.status.actionToSkip else { return }
        mode = .confirm(.skip(lane.name, action))
    }

    private var selectedLane: WatchPicture.Lane? {
        lanes.indices.contains(selectedIndex) ? lanes[selectedIndex] : nil
    }

    private mutating func select(_ index: Int) {
        selectedIndex = max(min(index, lanes.count - 1), 0)
        selection = selectedLane?.name
    }

    private mutating func applyFilter() {
        let words = filter.lowercased()
        lanes =
            words.isEmpty
            ? picture.lanes
            : picture.lanes.filter {
                $0.name.rawValue.lowercased().contains(words) || $0.status.state.rawValue.contains(words)
            }
        select(lanes.firstIndex { $0.name == selection } ?? selectedIndex)
    }
}
#endif
