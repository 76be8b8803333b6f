#if CommandLineTool
internal import ArgumentParser
internal import Sluice

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// Shows the queues while they change.
struct Watch: AsyncParsableCommand, Look {
    static let configuration = CommandConfiguration(
        abstract: "Watch the queues live, and act on them by keys.",
        discussion: """
            On a terminal: a screen with a line for each queue, first the queues that need an operator, and \
            the keys at the bottom: up and down select, Enter shows all about a queue and its head (Esc goes \
            back), p pauses or resumes, r tries again now, s skips the head after a question, / filters, ? \
            helps, q leaves. The last line shows what a key did. It is updated when something changes, at \
            most ten times a second.

            Elsewhere, and with --plain or --json: a line for the state of each queue, then one for each \
            change, until a signal. With --json: time, queue, state (or drained, when no action is left), \
            depth, because.

            Example:
              sluice watch --file q.sqlite
              sluice watch --file q.sqlite 'mail/*' --json | tee changes.jsonl

            \(ExitStatus.help)
            """
    )

    @OptionGroup var store: StoreOption

    @OptionGroup var queues: ShownQueues

    @Flag(help: "Lines instead of a screen.")
    var plain = false

    @OptionGroup var output: OutputOption

    func run() async throws {
        _ = try queues.pattern.form()
        let events = WatchEvents()
        let terminal = plain || output.json ? nil : RawTerminal()
        // The terminal is restored before any error is printed.
        defer { terminal?.restore() }
        if terminal != nil { events.readKeys() }
        var options = BrokerOptions()
        // A key whose action is blocked reports this soon.
        options.file.lockTimeout = .seconds(1)
        if terminal == nil { options.file.role = .readOnly }
        try await store.withBroker(options) { broker in
            if let terminal {
                try await watch(broker, on: terminal, events)
            } else {
                try await log(broker, events)
            }
        }
    }

    // MARK: - On a screen

    private func watch(_ broker: Broker, on terminal: RawTerminal, _ events: WatchEvents) async throws {
        var eye = WatchEye(queues.pattern)
        var pace = WatchPace()
        var model = WatchModel()
        var frame = FrameWriter()
        for await event in events.stream {
            let drawing = WatchDrawing(title: store.title(broker), size: terminal.size, paint: output.paint)
            switch event {
            case .stop: return
            case .resized: break
            case .tick:
                guard let picture = try await look(broker, &eye, &pace) else { continue }
                model.show(picture)
                if model.mode == .details, let queue = model.details?.queue {
                    model.open(try await WatchDetails(broker, queue, at: Date()))
                }
            case .keys(let bytes):
                for key in Key.keys(in: bytes) {
                    guard let act = model.press(key, pageSize: drawing.pageSize) else { continue }
                    if act == .quit { return }
                    if case .open(let queue) = act {
                        model.open(try await WatchDetails(broker, queue, at: Date()))
                    } else {
                        model.message = await perform(act, broker, drawing)
                        pace.hurry()
                        // The next key acts on what this one has changed.
                        if let picture = try await look(broker, &eye, &pace) { model.show(picture) }
                    }
                }
            }
            model.scroll(pageSize: drawing.pageSize)
            if model.mode == .details, let details = model.details {
                let count = drawing.lines(of: details).count
                model.scrollDetails(count: count, pageSize: drawing.detailPageSize)
            }
            if let text = frame.update(drawing.lines(model), drawing.size) { Terminal.draw(text) }
        }
    }

    /// - Returns: The message about it.
    private func perform(
        _ intent: WatchModel.Intent,
        _ broker: Broker,
        _ drawing: WatchDrawing
    ) async -> String {
        let (undone, queue): (String, QueueName)
        switch intent {
        case .hold(let name): (undone, queue) = ("held", name)
        case .resume(let name): (undone, queue) = ("resumed", name)
        case .retry(let name): (undone, queue) = ("tried again", name)
        case .skip(let name, _): (undone, queue) = ("skipped", name)
        case .open, .quit: return ""
        }
        let name = drawing.name(of: queue)
        do {
            let pattern = QueuePattern(queue.rawValue)
            switch intent {
            case .hold:
                try await broker.hold(pattern, by: HoldFacts.user, reason: "sluice watch", for: nil)
                return try await message("held: \(name)", queue, broker, withReason: false)
            case .resume:
                let count = try await broker.endHolds(matching: pattern, by: nil)
                guard count > 0 else { return "held by its prefix: \(name); see `sluice holds`" }
                return try await message("resumed: \(name)", queue, broker)
            case .retry:
                guard try await broker.retryNow(pattern) > 0 else {
                    return "no retry or parking to end: \(name)"
                }
                return try await message("tried again: \(name)", queue, broker)
            case .skip(_, let head):
                // Not another one that has become the head since the user saw it.
                let act = Act.skipHead(of: queue, only: head, reason: nil)
                return try await act.answer(try await broker.perform(act), broker).sentence
            case .open, .quit:
                return ""
            }
        } catch {
            return "not \(undone): \(name); \(await words(for: error, broker))"
        }
    }

    /// Names the processes that hold the lock, if the system reports them.
    private func words(for error: any Error, _ broker: Broker) async -> String {
        guard let error = error as? SluiceError else { return "\(error)" }
        guard error.code == .databaseLocked else { return error.message }
        let holders = await broker.lockHolders()
        guard !holders.isEmpty else { return error.message }
        let names = holders.map { "\($0)" + (LockTable.programName(of: $0).map { " (\($0))" } ?? "") }
        return "process \(names.joined(separator: ", ")) has the write lock"
    }

    /// Adds to the result of a key what the queue waits for now.
    private func message(
        _ sentence: String,
        _ queue: QueueName,
        _ broker: Broker,
        withReason: Bool = true
    ) async throws(SluiceError) -> String {
        let status = try await broker.status(of: queue)
        if let action = status.parkingAction {
            return "\(sentence), still parked by \(action): r tries it again, s skips it"
        }
        guard withReason, let because = status.because.first else { return sentence }
        return "\(sentence), \(because.brief(at: Date()))"
    }

    // MARK: - In lines

    private func log(_ broker: Broker, _ events: WatchEvents) async throws {
        var eye = WatchEye(queues.pattern)
        var pace = WatchPace()
        var log = WatchLog()
        for await event in events.stream {
            switch event {
            case .stop: return
            case .resized, .keys: break
            case .tick:
                guard let picture = try await look(broker, &eye, &pace) else { continue }
                Terminal.answer(log.lines(picture, at: Timestamp(Date()), json: output.json))
            }
        }
    }

    /// Returns a picture, if it is time for one.
    private func look(
        _ broker: Broker,
        _ eye: inout WatchEye,
        _ pace: inout WatchPace
    ) async throws -> WatchPicture? {
        let start = ContinuousClock.now
        guard pace.mayLook(at: start) else { return nil }
        guard pace.isDue(at: start, marker: try await broker.engine.changeMarker()) else { return nil }
        let picture = try await eye.look(broker, at: start)
        let end = ContinuousClock.now
        pace.looked(at: end, taking: start.duration(to: end))
        return picture
    }
}
#endif
