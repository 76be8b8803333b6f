import Dispatch

@testable import Sluice

extension WorkQueue {
    /// Does something on a queue of the system, and returns its result.
    func sync<Output>(execute work: () throws -> Output) throws -> Output {
        guard let queue = self as? DispatchQueue else {
            throw Unexpected(description: "the queue is no dispatch queue")
        }
        return try queue.sync(execute: work)
    }
}
