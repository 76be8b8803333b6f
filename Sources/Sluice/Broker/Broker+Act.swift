extension Broker {
    /// Checks an act, and does it: the public calls, the tool and the page act by this call alone.
    ///
    /// - Throws: ``SluiceError`` for names, tags and texts outside their limits, `unsupported` for what the
    ///   engine does not have, and what the public call of the act throws.
    package func perform(_ act: Act) async throws(SluiceError) -> ActResult {
        try check(act)
        return try await engine.perform(act)
    }

    private func check(_ act: Act) throws(SluiceError) {
        switch act {
        case .cancel(.tag(let tag)), .setTag(_, let tag?): try EnqueueOptions.validate(tag: tag)
        case .move(_, to: let queue): try queue.validateForActions()
        case .edit(let action, to: .text(let payload), _, _): try drafter.checkEdit(payload, of: action)
        case .skipHead(of: let queue, _, _): try queue.validate()
        case .hold(let pattern, by: let holder, let reason, _):
            _ = try pattern.form()
            try Hold.validate(holder, reason)
        case .openGate(let name, _, _), .closeGate(let name, _, _): try name.validate()
        case .runNow: try require(.batches)
        // Their parts have been checked where they were made.
        case .cancel(.action), .cancel(.queues), .moveToFront, .edit, .reschedule, .setExpiry, .setTag,
            .retryNow, .endHolds, .endHold, .requeue, .requeueAtEnd, .requeueAll, .purge, .purgeAll:
            break
        }
    }
}
