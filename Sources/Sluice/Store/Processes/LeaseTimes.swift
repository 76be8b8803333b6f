/// How long a process keeps its right to run queues without a sign of life, and how often it gives one.
package struct LeaseTimes: Sendable, Hashable {
    /// What a process is given that cannot be told dead.
    package var length: Duration = .seconds(30)
    /// A third of it, so that two renewals may fail.
    ///
    /// Any commit of changes renews it too that comes when half of this has passed.
    package var renewal: Duration = .seconds(10)
    /// How often a process looks whether the others live, while there are others.
    package var watch: Duration = .seconds(1)
    /// The process that ends what this one's handlers have started, should this one die; it ends after that.
    package var keeper: ProcessIdentity?

    package init() {}
}
