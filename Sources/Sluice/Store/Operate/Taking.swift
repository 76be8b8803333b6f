/// What was taken out of a queue.
struct Taking<Output: Sendable>: Sendable {
    var outputs: [Output] = []
    /// Why the next action could not be read: it stays where it is.
    var refusal: SluiceError?
    /// There may be more: ask again.
    var isUnfinished = false
}
