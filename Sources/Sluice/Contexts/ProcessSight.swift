/// What a machine shows of a process.
package enum ProcessSight {
    /// It lives, with this mark: see ``ProcessIdentity/mark``.
    case lives(mark: String)
    case hasEnded
    /// For want of a right or a descriptor.
    case isHidden
}
