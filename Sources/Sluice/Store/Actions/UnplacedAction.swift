/// A due scheduled action whose row cannot be written, as in a damaged file.
package struct UnplacedAction: Sendable {
    package let action: ActionID
    package let queue: QueueID
    package let error: SluiceError
}
