#if CommandLineTool
import Foundation
import Subprocess
import TestSupport
import Testing

@Suite("sluice skip and sluice move", .serialized, .watched) struct MoveTests {
    private func ids(_ place: Workplace, in queue: String) async throws -> [Int?] {
        try await place.sluice("actions", "--queue", queue, "--json").objects().map { $0["id"] as? Int }
    }

    private func dead(_ place: Workplace) async throws -> [[String: Any]] {
        try await Tool.run(["dead", "list", "--json", "--file", place.path]).objects()
    }

    @Test("skip makes the head a dead letter with the reason, and lifts the parking that it caused")
    func skip() async throws {
        let place = try Workplace()
        try await place.enqueue("q", "q")
        _ = try await place.sluice("run", "--exec", "exit 65", "--until-empty")
        let result = try await place.sluice("skip", "q", "--reason", "the room is gone")
        #expect(result.status == .exited(0))
        #expect(result.output == "1 is skipped; `sluice dead requeue 1` puts it back\n")
        #expect(try await place.queues().map { $0["state"] as? String } == ["stopped"])
        let letter = try #require(try await dead(place).first)
        #expect(letter["cause"] as? String == "skipped")
        #expect(letter["error"] as? String == "the room is gone")
        let json = try #require(try await place.sluice("skip", "q", "--json").objects().first)
        #expect(json["result"] as? String == "skipped" && json["id"] as? Int == 2)
        let empty = try await place.sluice("skip", "q", "--json")
        #expect(empty.status == .exited(1))
        #expect(empty.output == #"{"queue":"q","result":"empty","id":null}"# + "\n")
        let never = try await place.sluice("skip", "never")
        #expect(never.status == .exited(1))
        let sentence = "never has nothing to skip: it is empty, or all its actions are scheduled for later\n"
        #expect(never.output == sentence)
    }

    @Test("move --to gives actions their places in another queue, and says which are not there and why")
    func move() async throws {
        let place = try Workplace()
        try await place.enqueue("a", "b", "a", "a")
        _ = try await place.sluice("skip", "a")
        let result = try await place.sluice("move", "3", "9", "1", "--to", "b")
        #expect(result.status == .exited(1))
        #expect(
            result.output == """
                3 is moved to b
                too late: 9 does not exist; `sluice actions` lists all
                too late: 1 is a dead letter; `sluice dead` requeues and purges dead letters

                """
        )
        #expect(try await ids(place, in: "b") == [2, 3])
        let json = try await place.sluice("move", "4", "9", "--to", "c", "--json")
        #expect(try json.objects().map { $0["result"] as? String } == ["done", "too_late"])
        #expect(try await ids(place, in: "c") == [4])
    }

    @Test("move --front lets actions start next, the one that is named first before the others")
    func front() async throws {
        let place = try Workplace()
        try await place.enqueue("a", "a", "a", "a")
        let result = try await place.sluice("move", "4", "3", "--front")
        #expect(result.status == .exited(0))
        #expect(result.output == "3 is at the front of its queue\n4 is at the front of its queue\n")
        #expect(try await ids(place, in: "a") == [4, 3, 1, 2])
    }

    @Test("An action that cannot move stays where it is, and the message says why")
    func refused() async throws {
        let place = try Workplace()
        try await place.enqueue("a")
        let texts = ["--queue", "t", "--kind", "k", "--sort-type", "text", "--payload", "1", "--sort-key"]
        _ = try await Tool.run(["enqueue", "--file", place.path] + texts + [""])
        _ = try await Tool.run(["enqueue", "--file", place.path] + texts + ["x"])
        let other = try await place.sluice("move", "1", "--to", "t")
        #expect(other.status == .exited(65))
        #expect(
            other.errors.hasPrefix("sluice: 1 stays where it is: the queue 't' is ordered by"),
            "\(other)"
        )
        let smaller = try await place.sluice("move", "3", "--front")
        #expect(smaller.status == .exited(65))
        #expect(
            smaller.errors == "sluice: 3 stays where it is: no sort key is smaller than that of action 2, "
                + "the first of its queue\n"
        )
        #expect(try await place.actions().map { $0["id"] as? Int } == [1, 2, 3])
    }

    @Test("What runs is left by skip and move --front, and moved by move --to when its attempt ends")
    func running() async throws {
        let place = try Workplace()
        try await place.enqueue("a")
        let pipe = try place.makePipe("gate")
        let script = "echo started; read line < '\(pipe)'; echo 'retry-after: 3600'; exit 75"
        let arguments = ["run", "--file", place.path, "--queue", "a", "--exec", script]
        let status = try await Tool.follow(arguments) { line, send in
            guard line == "started" else { return }
            let skip = try await place.sluice("skip", "a")
            #expect(skip.status == .exited(1))
            #expect(skip.output == "1 runs and is left as it is; `sluice remove 1` cancels it\n")
            let front = try await place.sluice("move", "1", "--front", "--json")
            #expect(front.status == .exited(1))
            #expect(try front.objects().first?["result"] as? String == "running")
            let move = try await place.sluice("move", "1", "--to", "b")
            #expect(move.status == .exited(0))
            #expect(move.output == "1 runs; it moves when its attempt ends\n")
            #expect(try await ids(place, in: "b").isEmpty)
            try send(.terminate)
            try place.release(pipe)
        }
        #expect(status == .exited(0))
        #expect(try await ids(place, in: "b") == [1])
        #expect(try await ids(place, in: "a").isEmpty)
    }

    @Test(
        "G11: a process that runs the file goes on at once with what skip, move and requeue have made ready"
    )
    func heeded() async throws {
        let place = try Workplace()
        try await place.enqueue("q", "q", "q")
        // The first fails, and each that follows is told as it runs.
        let script =
            "echo ran $SLUICE_ID; test $SLUICE_ID != 1 || { echo 'retry-after: 3600'; exit 75; }"
        let arguments = ["run", "--file", place.path, "--exec", script]
        var ran: [String] = []
        let status = try await Tool.follow(arguments) { line, send in
            guard line.hasPrefix("ran ") else { return }
            ran.append(line)
            switch ran.count {
            case 1:
                // Its attempt has begun and may not have ended.
                while try await place.queues().first?["state"] as? String != "retry" {}
                #expect(try await place.sluice("move", "3", "--front").status == .exited(0))
            case 2:
                while try await ids(place, in: "q").contains(3) {}
                #expect(try await place.sluice("skip", "q").status == .exited(0))
            case 3:
                let file = ["--file", place.path]
                #expect(try await Tool.run(["dead", "requeue", "1"] + file).status == .exited(0))
            default: try send(.terminate)
            }
        }
        #expect(status == .exited(0))
        #expect(ran == ["ran 1", "ran 3", "ran 2", "ran 1"])
    }
}
#endif
