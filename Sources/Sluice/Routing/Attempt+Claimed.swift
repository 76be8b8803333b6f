extension Attempt {
    package init(_ action: ClaimedAction, of origin: (any AttemptOrigin)? = nil) {
        settler = origin.map { AttemptSettler(action: action, origin: $0) }
        id = action.receipt.action
        queue = action.queue
        kind = action.kind
        version = action.version
        number = action.number
        nonce = action.nonce
        enqueuedAt = action.enqueuedAt.date
        lastError = action.lastError
    }
}
