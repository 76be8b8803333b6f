extension Store {
    package func claim(
        _ requests: [ClaimRequest],
        completion: @escaping @Sendable (Result<[ClaimResult], SluiceError>) -> Void
    ) {
        let isEarly = mutant("claim before start")
        let claim = { @Sendable (transaction: WriteTransaction) throws in
            let results = try requests.map(transaction.claims.claim)
            if isEarly { completion(.success(results)) }
            return results
        }
        writer.submit(Write(sync: .later, body: claim, completion: isEarly ? { _ in } : completion))
    }
}
