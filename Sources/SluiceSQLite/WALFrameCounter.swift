internal import CSluiceSQLite

/// The target of the WAL hook, a C function without context of its own.
final class WALFrameCounter {
    var frames = 0
}
