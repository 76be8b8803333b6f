#if PostgreSQL
internal import Sluice

/// The statements of one transaction, in turn: see ``PostgresConnection/transaction(_:)``.
struct PostgresTransaction {
    let link: any PostgresLink
    let address: PostgresAddress

    func call(
        _ sql: String,
        _ parameters: [String?] = [],
        within limit: Duration = .seconds(60)
    ) throws(PostgresFailure) -> PostgresRows {
        try link.call(address.qualified(sql), parameters, within: limit)
    }

    /// Executes a script of several statements without parameters.
    func execute(script: String) throws(PostgresFailure) { try link.execute(script: script) }
}
#endif
