internal import Logging
internal import Synchronization

/// What the broker notices by itself: queues that do not move, and a missing route, gate or runner.
extension FileEngine {
    func log(_ events: [QueueEvent]) { options.logger.log(events) { self.namesQueueWithoutRoute() } }

    /// Starts the search for stalled queues; called at the start of a run or of an observation.
    func watchForStalls() {
        guard let threshold = options.stallThreshold, isRunning, store.interest.isAny else { return }
        scheduler.schedule(.findStalled, within: threshold / Self.looksPerThreshold)
    }

    /// How many pages are read within the threshold, of which a report is late by at most one part.
    static let looksPerThreshold = 5

    func findStalled(_ threshold: Duration) async throws(SluiceError) {
        let page = StallWatch.page
        let found = try await statuses(of: .prefix([]), in: nil, after: stalls.next, limit: page)
        let (now, uptime) = (options.clock.now, options.clock.uptime)
        let stalled = stalls.look(at: found, isLast: found.count < page, now: uptime, threshold: threshold)
        let events = stalled.map { status in
            var event = QueueEvent(.stalled, at: now.date, queue: status.queue)
            event.action = status.head
            event.actionKind = status.headKind
            event.attempt = status.attempt
            event.error = status.lastError
            event.because = status.because.first { $0.isStall }
            return event
        }
        observers.publish(events)
    }

    func noteLackOfRoute() {
        oversights.lacksRoute()
        scheduleOversights()
    }

    /// Returns whether a queue without a route is to be logged by its name.
    func namesQueueWithoutRoute() -> Bool { oversights.namesRouteless() && options.namesQueuesWithoutRoute }

    func noteClosedGate(_ gate: GateName) { if oversights.meets(gate) { scheduleOversights() } }

    private func scheduleOversights() {
        guard oversights.needsReport() else { return }
        scheduler.schedule(.reportOversights, within: Oversights.delay)
    }

    func reportOversights() {
        let found = oversights.takeFound()
        let patterns = found.hasRouteless ? routes.current.patterns : []
        attempt(.reportOversights, again: nil) { [weak self, options] store in
            guard let self else { return }
            if options.namesQueuesWithoutRoute {
                if found.isNamed, options.hasLogger {
                    options.warn(ofQueuesWithoutRoute: found.unnamed)
                } else if found.hasRouteless, !oversights.hasReportedRouteless,
                    let queues = try await store.queuesWithoutRoute()
                {
                    // The file has known them for longer than this broker, or no logger has heard of them.
                    oversights.noteRoutelessReport()
                    options.warn(of: queues)
                }
            }
            options.warn(of: oversights.new(try await store.patternsWithoutQueue(patterns)))
            options.warn(of: try await store.gatesWithoutRow(found.gates))
        }
    }

    /// Logs a warning, once, if nothing runs the queues soon, as somebody waits for that.
    func expectRun() {
        let isFirst = life.withLock { life in
            guard life.state == .idle, !life.expectsRun else { return false }
            life.expectsRun = true
            return true
        }
        if isFirst { scheduler.schedule(.findRunner, within: Oversights.runnerDelay) }
    }

    func findRunner() {
        attempt(.findRunner, again: nil) { [weak self, options] store in
            guard let self else { return }
            let others = try await store.runningProcesses()
            let isMissed = life.withLock { life in
                let isAwaited = store.waiters.areThere || !life.restWaiters.isEmpty
                let isMissed =
                    isAwaited && life.state == .idle && !suspension.isOn
                    && others.allSatisfy { $0.isDead || $0.isLeaseOver }
                if !isMissed { life.expectsRun = false }
                return isMissed
            }
            guard isMissed else { return }
            options.logger.warning("nothing runs the queues: call run(), in this process or another")
        }
    }
}
