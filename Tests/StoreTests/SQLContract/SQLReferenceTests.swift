import Foundation
import TestSupport
import Testing

@testable import EngineSupport

@Suite("The SQL reference", .watched(minutes: 1)) struct SQLReferenceTests {
    /// Views that people can see, but that may change with any version.
    private static let internalViews = [
        "sluice_clock", "sluice_action_facts", "sluice_queue_depths", "sluice_queue_facts",
        "sluice_time_text", "sluice_given_time", "sluice_empty_queues", "sluice_check_action",
        "sluice_check_time", "sluice_check_depth", "sluice_add_queue", "sluice_fit_sort_key",
        "sluice_write_places", "sluice_add_state", "sluice_set_next_attempt", "sluice_edit_running",
        "sluice_spare_arrival", "sluice_move_waiting",
    ]

    @Test("It has the columns of each table and view of a file, in their order")
    func columns() async throws {
        let shell = try await closedFile().shell
        let reference = try SQLReference()
        #expect(reference.tables.map(\.name) == reference.listed)
        for table in reference.tables {
            let columns = try await shell.run("SELECT name FROM pragma_table_info('\(table.name)')")
            #expect(table.columns == columns, "\(table.name)")
        }
    }

    @Test("It has every view of a file, and the record of its migrations")
    func views() async throws {
        let shell = try await closedFile().shell
        let found = try await shell.run("SELECT name FROM sqlite_master WHERE type = 'view'")
        let promised = try SQLReference().listed
        let all = Self.internalViews + promised.filter { $0 != "sluice_migrations" }
        #expect(all.sorted() == found.sorted())
        #expect(promised.contains("sluice_migrations"))
    }

    @Test("A column that is missing, or has no meaning, is found")
    func findsMissing() {
        let reference = SQLReference(
            """
            # Title

            ## Overview

            | name | a row for each |
            | --- | --- |
            | `sluice_a` | thing |

            ## Columns

            ### sluice_a

            | column | meaning |
            | --- | --- |
            | `one` | a number |
            | `two` |  |

            ## Writing

            | `three` | a statement |
            """
        )
        #expect(reference.listed == ["sluice_a"])
        #expect(reference.tables == [SQLReference.Table(name: "sluice_a", columns: ["one"])])
    }
}
