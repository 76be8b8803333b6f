#if CommandLineTool
import Foundation
import Subprocess
import TestSupport
import Testing

@Suite("Copies by the tool", .watched) struct BackupTests {
    @Test("A copy holds what the file holds, is its owner's, and runs; the file is as it was")
    func copies() async throws {
        let place = try Workplace()
        try await place.enqueue("a", "b")
        let before = try Data(contentsOf: URL(fileURLWithPath: place.path))
        let copy = place.path(of: "copy.sqlite")
        let result = try await place.sluice("backup", copy)
        #expect(result.status == .exited(0), "\(result)")
        #expect(result.lines.count == 1 && result.output.contains("copied to \(copy)"))
        #expect(try Data(contentsOf: URL(fileURLWithPath: place.path)) == before)
        let mode = try FileManager.default.attributesOfItem(atPath: copy)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        let run = try await Tool.run(["run", "--file", copy, "--exec", "cat; echo", "--until-empty"])
        #expect(run.status == .exited(0), "\(run)")
        #expect(Set(run.lines) == ["1", "2"])
        try await #expect(place.actions().count == 2)
        let files = try FileManager.default.contentsOfDirectory(atPath: place.directory)
        #expect(files.sorted() == ["copy.sqlite", "queues.sqlite"])
    }

    @Test("With --json the answer is where it stands and how large it is")
    func json() async throws {
        let place = try Workplace()
        try await place.enqueue("a")
        let copy = place.path(of: "copy.sqlite")
        let answer = try #require(try await place.sluice("backup", copy, "--json").objects().first)
        #expect(answer["destination"] as? String == copy)
        #expect(answer["bytes"] as? Int == (try Data(contentsOf: URL(fileURLWithPath: copy)).count))
    }

    @Test("A running file is copied; what stands at the destination is kept, with status 73")
    func running() async throws {
        let place = try Workplace()
        try await place.enqueue("a")
        let pipe = try place.makePipe("go")
        let copy = place.path(of: "copy.sqlite")
        let status = try await Tool.follow(
            ["run", "--file", place.path, "--exec", "echo begun; read line < '\(pipe)'", "--until-empty"]
        ) { line, _ in
            guard line.contains("begun") else { return }
            let first = try await place.sluice("backup", copy)
            #expect(first.status == .exited(0), "\(first)")
            let second = try await place.sluice("backup", copy)
            #expect(second.status == .exited(73))
            #expect(second.errors.contains("exists"))
            try place.release(pipe)
        }
        #expect(status == .exited(0))
        let actions = try await Tool.run(["actions", "--file", copy, "--json"]).objects()
        #expect(actions.count == 1)
        #expect(actions.first?["attempts"] as? Int == 0)
        try await #expect(place.actions().isEmpty)
    }
}
#endif
