#if PostgreSQL
internal import Sluice

/// The actions of a group of enqueues as arrays, one for each column.
struct EnqueueArrays: Sendable {
    static let sql = """
        SELECT id, refusal FROM @sluice_enqueue_many($1::uuid, $2::bigint, $3::int[], $4::text[], \
        $5::text[], $6::int[], $7::text[], $8::text[], $9::bytea[], $10::boolean[], $11::timestamptz[], \
        $12::timestamptz[], $13::text[], $14::text[], $15::text[], $16::text[], $17::interval[], \
        $18::text[], $19::int[]) ORDER BY place
        """

    private let columns: [String?]

    init(_ calls: [[ActionDraft]]) {
        let drafts = calls.flatMap { $0 }
        let numbers = calls.enumerated().flatMap { number, drafts in drafts.map { _ in number } }
        let extras = drafts.map(\.extras)
        columns = [
            PostgresArray.numbers(numbers),
            PostgresArray.text(drafts.map(\.queue.rawValue)),
            PostgresArray.text(drafts.map(\.kind)),
            PostgresArray.numbers(drafts.map(\.version)),
            PostgresArray.text(drafts.map(\.payload)),
            PostgresArray.text(drafts.map(\.sortKey.kind.rawValue)),
            PostgresArray.sparse(drafts.map { Self.bytes($0.sortKey) }),
            PostgresArray.sparse(drafts.map { $0.fixesSortKind ? "t" : nil }),
            PostgresArray.sparse(drafts.map { $0.notBefore?.postgresText }),
            PostgresArray.sparse(extras.map { $0?.expiresAt?.postgresText }),
            PostgresArray.sparse(extras.map { $0?.tag }),
            PostgresArray.sparse(extras.map { $0?.gate?.rawValue }),
            PostgresArray.sparse(extras.map { $0?.key?.text }),
            PostgresArray.sparse(extras.map { $0?.key.map { Self.word($0.policy) } }),
            PostgresArray.sparse(extras.map { $0?.key?.retention.postgresText }),
            PostgresArray.sparse(drafts.map(\.trace)),
            PostgresArray.sparse(drafts.map { $0.depthLimit.map(String.init) }),
        ]
    }

    /// - Parameter token: By which the result is asked for after a lost connection; `nil`: it is not.
    func parameters(_ token: String?) -> [String?] {
        [token, "\(Int64.random(in: .min ... .max))"] + columns
    }

    private static func bytes(_ key: SortKey) -> String? {
        key.kind == .arrival ? nil : "\\x" + key.orderedBytes.hexadecimal
    }

    private static func word(_ policy: DeduplicationKey.Policy) -> String {
        switch policy {
        case .keepFirst: "keep"
        case .replace: "replace"
        case .refuse: "refuse"
        }
    }
}
#endif
