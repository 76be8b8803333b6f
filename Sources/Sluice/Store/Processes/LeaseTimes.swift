/// How long a process keeps the right to run queues without renewing its lease, and how often it renews.
package struct LeaseTimes: Sendable, Hashable {
    /// The lease of a process that cannot be found dead.
    package var length: Duration = .seconds(30)
    /// A third of it, so that two renewals may fail; after half of this, any commit of changes renews it too.
    package var renewal: Duration = .seconds(10)
    /// How often a process checks whether the others live, while there are others.
    package var watch: Duration = .seconds(1)
    /// The process that ends programs started by this one's handlers, if this one dies; it ends after that.
    package var keeper: ProcessIdentity?
}
