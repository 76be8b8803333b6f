/// Changes among the processes that run the queues.
package struct RunnerChanges: OptionSet, Sendable {
    package let rawValue: Int

    package init(rawValue: Int) { self.rawValue = rawValue }

    /// The set of other processes has changed.
    package static let others = RunnerChanges(rawValue: 1)
    /// Another process has ended or is ending: its waiting actions are found by a poll.
    package static let look = RunnerChanges(rawValue: 2)
    /// This process was declared dead: none of its claims is valid now.
    package static let takenOff = RunnerChanges(rawValue: 4)
}
