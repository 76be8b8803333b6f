/// Options for the queues of a pattern, whatever the kinds of their actions.
///
/// `nil` as discipline, start or expiry, the default, leaves it to a less specific pattern.
public struct QueueOptions: Sendable, Hashable {
    /// The type of the queues' sort keys; `nil`, the default, leaves it to the first action.
    ///
    /// It overrides the type in the file, such as after an `INSERT` by SQL: the next enqueue converts the
    /// keys of waiting actions. Actions whose keys cannot be converted become dead letters.
    public var sortKey: SortKey.Kind?
    /// The most actions that a queue may hold, beyond which enqueues throw ``SluiceError/Code/queueFull``.
    ///
    /// `nil`, the default, is no limit.
    public var maximumDepth: Int?
    /// In which order the queues' actions start, and how many at a time; by default
    /// ``QueueDiscipline/firstInFirstOut``.
    public var discipline: QueueDiscipline?
    /// When the actions start, by default ``QueueStart/immediately``.
    public var start: QueueStart?
    /// When actions expire without an expiry of their own: this long after their enqueue.
    ///
    /// It counts from ``EnqueueOptions/notBefore`` if that is later than the enqueue. It applies to enqueues
    /// by this API in all forms, also in transactions; not to an `INSERT` by SQL, and not to actions that are
    /// moved here, put back or imported. It must be positive; `nil`, the default, is no expiry.
    public var expiresAfter: Duration?

    /// Makes a set of options.
    public init(
        sortKey: SortKey.Kind? = nil,
        maximumDepth: Int? = nil,
        discipline: QueueDiscipline? = nil,
        start: QueueStart? = nil,
        expiresAfter: Duration? = nil
    ) {
        self.sortKey = sortKey
        self.maximumDepth = maximumDepth
        self.discipline = discipline
        self.start = start
        self.expiresAfter = expiresAfter
    }

    func validate() throws(SluiceError) {
        try discipline?.validate()
        try start?.validate()
        if let maximumDepth, maximumDepth < 1 {
            throw SluiceError(.invalidOptions, "a queue's maximumDepth is \(maximumDepth); give 1 or more")
        }
        if let expiresAfter, expiresAfter <= .zero {
            throw SluiceError(.invalidOptions, "a queue's expiresAfter is not positive")
        }
    }
}
