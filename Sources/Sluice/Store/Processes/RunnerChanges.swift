/// What has become of the processes that run the queues.
package struct RunnerChanges: OptionSet, Sendable {
    package let rawValue: Int

    package init(rawValue: Int) { self.rawValue = rawValue }

    /// The others are not those that were there before.
    package static let others = RunnerChanges(rawValue: 1)
    /// Another one has gone, or goes: what it was to run is left to whoever looks for it.
    package static let look = RunnerChanges(rawValue: 2)
    /// This one was taken for dead: none of its claims holds any more.
    package static let takenOff = RunnerChanges(rawValue: 4)
}
