/// What an edit stores.
package enum NewPayload: Sendable {
    /// A payload as it is stored, of a kind and a version that may be others than before.
    case typed(kind: String, payload: String, version: Int)
    /// JSON text of the kind and the version that the action has; it is sealed if payloads are.
    case text(String)
}
