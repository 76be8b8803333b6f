import Sluice

/// What is enqueued when nothing is left to do, and nothing is done to anybody.
extension Director {
    /// Two at a time, so that one comes while the other is claimed, and expects them at once (G11).
    ///
    /// Whichever process is asked knows when all is done.
    func ping(_ seats: [Seat]) async {
        while seats.contains(where: { $0.process?.isFrozen == true }) { await pause(.seconds(1)) }
        // Those that are suspended have gone on by then, and operators have ended what they had begun.
        await pause(.seconds(10))
        for seat in seats { await flush(seat) }
        let queues = plan.roles.enumerated().filter { $0.element != .rated }
        for round in 0..<Self.pings {
            guard let (number, role) = world.random.pick(queues).map({ ($0.offset, $0.element) }),
                let seat = world.random.pick(seats), let broker = seat.broker, let life = seat.lastLife,
                let asked = world.random.pick(seats)?.broker, let way = world.random.pick(Life.Way.allCases)
            else { return }
            let notes = (0..<2).map { Note(Note.firstPing + 2 * round + $0, inQueue: number, role) }
            let (waits, waitsForAll) = (world.random.percent(50), world.random.percent(50))
            let pinging = Task(executorPreference: life.process.executor) {
                await withTaskGroup(of: Void.self) { group in
                    for note in notes {
                        group.addTask { await life.store(note, EnqueueOptions(), broker, by: way) }
                    }
                }
                do {
                    // Two are no batch.
                    if role == .batched { try await broker.runNow(QueuePattern(notes[0].queue.rawValue)) }
                    guard waits else { return }
                    if waitsForAll {
                        await asked.waitUntilIdle()
                    } else {
                        try await asked.waitUntilIdle(QueuePattern(notes[0].queue.rawValue))
                    }
                    judge.checkIdle(notes)
                } catch { judge.report("cannot wait until all is done: \(error)") }
            }
            let late = world.at(world.now + .seconds(1), world.director) { [self] in
                Task(executorPreference: world.director.executor) { await noteStatuses(seats) }
            }
            await wait(for: pinging)
            let end = world.now + .seconds(3)
            while world.now < end, !judge.haveRun(notes) { await pause(.milliseconds(10)) }
            late.cancel()
            judge.checkAnswers(to: notes, by: way, isBatch: role == .batched)
            await pause(.milliseconds(world.random.below(400)))
        }
    }

    /// Has a process hear of syncs that have failed, of which each of its open files is told once.
    private func flush(_ seat: Seat) async {
        guard let broker = seat.broker, let life = seat.lastLife else { return }
        let flushing = Task(executorPreference: life.process.executor) {
            for _ in 0..<10 {
                do { return try await broker.file?.flush() } catch {
                    world.note("a flush has failed: \(error)")
                    await life.process.pause(.seconds(1))
                }
            }
            judge.report("the commits of \(life.process.name) cannot be made durable")
        }
        await flushing.value
    }

    /// Ends what does not end by itself.
    private func wait(for pinging: Task<Void, Never>) async {
        let bound = world.at(world.now + .seconds(60), world.director) { [judge] in
            judge.report("an enqueue, or a call that waits until all is done, does not return")
            pinging.cancel()
        }
        await pinging.value
        bound.cancel()
    }

    private static let pings = 6
}

extension Judge {
    /// How long after its commit an action begins at the latest, where nobody is busy: G11's hundred
    /// milliseconds and twice a sync, and as much for what comes between.
    private static let answer: Duration = .milliseconds(250)

    func haveRun(_ notes: [Note]) -> Bool { notes.allSatisfy { runCount(of: $0) > 0 } }

    /// - Parameter isBatch: Whether they were started when both were there.
    func checkAnswers(to notes: [Note], by way: Life.Way, isBatch: Bool) {
        // Nobody wakes whoever runs the queue: it looks ten times a second.
        let most = Self.answer + (way == .sql ? .milliseconds(200) : .zero)
        let latest = notes.compactMap { lines[$0.line]?.acknowledgedAt }.max() ?? .zero
        for note in notes {
            guard let line = lines[note.line] else { continue }
            let wait = (line.runs.first?.start ?? world.now) - (isBatch ? latest : line.acknowledgedAt)
            if line.runs.isEmpty || wait > most { report(note, "is not begun within \(wait) of its commit") }
        }
    }

    /// A call that has waited until all is done returns then.
    func checkIdle(_ notes: [Note]) {
        for note in notes where lines[note.line]?.hasSucceeded != true {
            report(note, "has not succeeded, and its queue was said to be idle")
        }
    }
}
