extension Broker {
    /// Has the broker look now for what other connections have committed, without waiting for it.
    ///
    /// It would find it by itself; this is for those who know of a commit, such as a library that has made
    /// it.
    package func lookForCommits() {
        guard wakeUps != nil, isRunning || store.waiters.areThere else { return }
        scheduler.schedule(.lookForChanges, within: .zero)
    }
}
