/// The actions taken out of a queue.
struct Taking<Output: Sendable>: Sendable {
    var outputs: [Output] = []
    /// Why the next action could not be read; it remains in the queue.
    var refusal: SluiceError?
    var isUnfinished = false
}
