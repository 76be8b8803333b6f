import Sluice

/// What is done to processes, their disks and clocks.
extension Director {
    func disturb(_ seats: [Seat], _ tally: inout Tally) async {
        let end = world.now + .seconds(plan.disturbance)
        while world.now < end {
            await pause(.milliseconds(200 + world.random.below(4_000)))
            for (index, seat) in seats.enumerated() where seat.process?.isDead == true { begin(index, seat) }
            guard let fault = world.random.pick(plan.faults.sorted { $0.rawValue < $1.rawValue }),
                let seat = world.random.pick(seats), let process = seat.process, !process.isFrozen
            else { continue }
            make(fault, seat, process, seats, &tally)
            // Two at a time meet what one alone does not.
            let other = world.random.pick(plan.faults.sorted { $0.rawValue < $1.rawValue })
            if world.random.percent(30), let other { make(other, seat, process, seats, &tally) }
        }
    }

    private func make(
        _ fault: Plan.Fault,
        _ seat: Seat,
        _ process: SimulatedProcess,
        _ seats: [Seat],
        _ tally: inout Tally
    ) {
        world.note("\(fault) of \(process.name)")
        // Clocks keep nobody from what it has claimed.
        if fault != .clock { judge.disturbed() }
        switch fault {
        case .kill: kill(seat, &tally)
        case .killInCall:
            process.fate = (
                world.random.below(40),
                { [world, judge] in
                    world.note("is killed in a call")
                    world.kill(process)
                    judge.died(process)
                }
            )
            tally.kills += 1
        case .freeze, .longFreeze: freeze(process, isLong: fault == .longFreeze, &tally)
        case .freezeInCall:
            let isLong = plan.faults.contains(.longFreeze) && world.random.percent(20)
            let length = lengthOfFreeze(isLong)
            process.fate = (world.random.below(40), { freeze(process, for: length) })
            tally.freezes += 1
        case .losePower:
            for seat in seats { kill(seat, &tally) }
            tally.lostWrites += world.disk.losePower(&world.random)
            tally.powerLosses += 1
            world.note("the power is gone")
            do { judge.powerLost(remaining: try remaining()) } catch {
                judge.report("the file cannot be read after the power was gone: \(error)")
            }
            // The next process finds no connection: it recovers what is on the disk.
            file.close()
        case .clock:
            let far: Duration = .seconds(plan.jumpsFar ? [-3_600, 0, 3_600][world.random.below(3)] : 0)
            process.clockOffset += far + .milliseconds(world.random.below(10_000) - 5_000)
            judge.noteClock(process.clockOffset)
            tally.jumps += 1
        case .failSyncs, .failSyncsLong, .fullDisk:
            breakDisk(fault, process)
            tally.diskFaults += 1
            // A suspension then finds what could not be written.
            if plan.faults.contains(.suspend) { suspend(seat, process, &tally) }
        case .suspend: suspend(seat, process, &tally)
        }
    }

    private func suspend(_ seat: Seat, _ process: SimulatedProcess, _ tally: inout Tally) {
        guard let broker = seat.broker else { return }
        tally.suspensions += 1
        let (delay, length) = (world.random.below(1_500), world.random.below(5_000))
        Task(executorPreference: process.executor) {
            do {
                try await process.clock.sleep(.milliseconds(delay))
                await broker.fileEngine.suspend()
                try await process.clock.sleep(.milliseconds(length))
                try await broker.fileEngine.resume()
            } catch { process.world.note("suspension: \(error)") }
        }
    }

    private func breakDisk(_ fault: Plan.Fault, _ process: SimulatedProcess) {
        switch fault {
        case .failSyncs:
            let count = Int32(1 + world.random.below(3))
            process.failSyncs(count, ofDatabaseOnly: world.random.percent(30))
        case .failSyncsLong:
            process.failSyncs(-1)
            world.at(world.now + .milliseconds(world.random.below(25_000)), world.director) {
                process.failSyncs(0)
            }
        case .fullDisk:
            process.setFull(true)
            world.at(world.now + .milliseconds(world.random.below(3_000)), world.director) {
                process.setFull(false)
            }
        default: break
        }
    }

    private func lengthOfFreeze(_ isLong: Bool) -> Duration {
        .milliseconds(isLong ? 31_000 + world.random.below(10_000) : 5 + world.random.below(3_000))
    }

    private func freeze(_ process: SimulatedProcess, isLong: Bool, _ tally: inout Tally) {
        tally.freezes += 1
        freeze(process, for: lengthOfFreeze(isLong))
    }

    private func freeze(_ process: SimulatedProcess, for length: Duration) {
        guard !process.isDead, !process.isFrozen else { return }
        let from = world.now
        world.note("\(process.name) is frozen for \(length)")
        process.frozenSince = from
        world.freeze(process)
        world.at(from + length, world.director) { [world, judge] in
            judge.noteSilence(of: process, from: from, to: world.now)
            process.frozenSince = nil
            world.note("\(process.name) goes on")
            world.thaw(process)
        }
    }
}
