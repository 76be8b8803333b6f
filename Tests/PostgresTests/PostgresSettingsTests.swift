#if PostgreSQL
import Sluice
import TestSupport
import Testing

@testable import SluicePostgres

/// Databases and roles whose settings keep queues from working.
@Suite(
    "Settings of a PostgreSQL server",
    .watched,
    .enabled(if: TestServer.isToRun, "`make test-all` runs it, where there is a server")
)
struct PostgresSettingsTests {
    private func site() throws -> PostgresSite { PostgresSite(try #require(TestServer.shared)) }

    @Test("Options outside their limits are an error that says what to give")
    func options() async throws {
        func refused(_ change: (inout PostgresOptions) -> Void) async -> SluiceError.Code? {
            var own = PostgresOptions()
            change(&own)
            let error = await #expect(throws: SluiceError.self) {
                _ = try await Broker(postgres: "postgresql://127.0.0.1:1/nothing", server: own)
            }
            return error?.code
        }
        await #expect(refused { $0.schema = "" } == .invalidOptions)
        await #expect(refused { $0.schema = String(repeating: "é", count: 26) } == .invalidOptions)
        // A search path replaces it by the name of the role.
        await #expect(refused { $0.schema = "$user" } == .invalidOptions)
        await #expect(refused { $0.lease = .milliseconds(999) } == .invalidOptions)
        await #expect(refused { $0.pollInterval = .milliseconds(9) } == .invalidOptions)
        var options = BrokerOptions()
        options.concurrency = 0
        let error = await #expect(throws: SluiceError.self) {
            _ = try await Broker(postgres: "postgresql://127.0.0.1:1/nothing", options: options)
        }
        #expect(error?.code == .invalidOptions)
    }

    @Test(
        "G14: settings with which nothing works are an error that names them",
        arguments: ["array_nulls=off", "standard_conforming_strings=off"]
    )
    func settings(_ setting: String) async throws {
        let site = try site()
        let url = "\(site.server.url)&options=-c%20\(setting.replacing("=", with: "%3D"))"
        let error = await #expect(throws: SluiceError.self) { _ = try await Broker(postgres: url) }
        #expect(error?.code == .unsupportedDatabase)
        #expect(error?.message.contains("\(setting.prefix { $0 != "=" })") == true)
    }

    @Test("G14: a database that is not in UTF-8 is an error that says so, and nothing is made in it")
    func encoding() async throws {
        let site = try site()
        let sql = PostgresConnection(PostgresAddress(url: site.server.url, schema: site.schema))
        let name = site.schema
        _ = try await sql.call(
            "CREATE DATABASE \(name) TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'"
        )
        let url = site.server.url.replacing("/postgres?", with: "/\(name)?")
        let error = await #expect(throws: SluiceError.self) { _ = try await Broker(postgres: url) }
        #expect(error?.code == .unsupportedDatabase)
        #expect(error?.message.contains("server_encoding is LATIN1") == true)
        _ = try await sql.call("DROP DATABASE \(name) WITH (FORCE)")
        await sql.close()
    }

    @Test("G14: a role whose transactions cannot run queues ends the run with the reason")
    func isolation() async throws {
        let site = try site()
        var own = PostgresOptions()
        own.schema = site.schema
        let url = "\(site.server.url)&options=-c%20default_transaction_isolation%3Dserializable"
        let broker = try await Broker(postgres: url, server: own)
        try broker.route("*", Note.self) { _, _ in .success }
        let error = await #expect(throws: SluiceError.self) { try await broker.run() }
        let text = try #require(error?.message)
        #expect(text.contains("READ COMMITTED: set default_transaction_isolation"), "\(text)")
        await broker.close()
    }
}
#endif
