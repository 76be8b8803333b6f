#if Web
import Foundation
import NIOCore
import NIOEmbedded
import Sluice
import TestSupport
import Testing

@testable import SluiceWeb

@Suite("Pieces of the operator's page", .watched)
struct PiecesTests {
    @Test("Interpolated text is escaped, HTML is not, and hidden characters are shown by their numbers")
    func html() {
        let name = "<b>&\"'\u{202E}\u{0}\u{200B}ä😀\n"
        let html: HTML = "<p>\(name)\(7)\(HTML("<i>"))</p>"
        let exact: HTML = "\(exact: name)"
        #expect(exact.text == "&lt;b&gt;&amp;&quot;&#39;\u{202E}\u{0}\u{200B}ä😀&#10;")
        #expect(html.text == "<p>&lt;b&gt;&amp;&quot;&#39;\\u{202e}\\u{0}\\u{200b}ä😀\n7<i></p>")
    }

    @Test(
        "A form is read as it was encoded, whatever its values hold",
        arguments: ["", "a=b&c", "%", "%zz", "+ +", "ü/😀", "\u{0}\r\n", "100%"]
    )
    func form(value: String) {
        var form = Form()
        form.add("näme", value)
        form.add("other", "x")
        let read = Form(form.encoded)
        #expect(read["näme"] == (value.isEmpty ? nil : value))
        #expect(read["other"] == "x")
    }

    @Test("Broken escapes stay as they are")
    func brokenEscapes() {
        #expect(Form("a=%&b=%4&c=%zz&d=%41&=e&f")["a"] == "%")
        #expect(Form("b=%4")["b"] == "%4")
        #expect(Form("c=%zz")["c"] == "%zz")
        #expect(Form("d=%41")["d"] == "A")
        #expect(Form("a=1&a=2").all("a") == ["1", "2"])
    }

    @Test("A tree keeps numbers and escapes as they are written")
    func tree() {
        let tree = JSONTree(#"{"id":9007199254740993,"a":[1.50,{"b\n":"x\"y"}],"e":{},"n":null}"#)
        #expect(
            tree?.lines == [
                "{", #"  "id": 9007199254740993,"#, #"  "a": ["#, "    1.50,", "    {",
                #"      "b\n": "x\"y""#, "    }", "  ],", #"  "e": {},"#, #"  "n": null"#, "}",
            ]
        )
    }

    @Test("A payload is stored on one line, with its numbers and escapes")
    func compact() {
        let text = "{\r\n  \"id\": 9007199254740993,\r\n  \"a\": [1.50, \"x\\n y\"],\n \"e\": {}\n}"
        #expect(JSONTree(text)?.compact == #"{"id":9007199254740993,"a":[1.50,"x\n y"],"e":{}}"#)
    }

    @Test(
        "What is no JSON, or nested too deep, is no tree",
        arguments: ["", "{", "[1,]", "\"a", "{\"a\"}", "1 2", "nul", String(repeating: "[", count: 70)]
    )
    func noTree(text: String) { #expect(JSONTree(text) == nil) }

    @Test("A token gives its role; a wrong one, a part of one and none do not")
    func tokens() throws {
        let file = try TokenFile(
            text: "# people\nact ada p9ZcSgN4mYx2w7QkLr5TtA\n\nlook wall Vb3nH8eJd6RfCq1KzM0XyU\n",
            named: "tokens"
        )
        #expect(file.person(with: "p9ZcSgN4mYx2w7QkLr5TtA") == Operator(name: "ada", role: .act))
        #expect(file.person(with: "Vb3nH8eJd6RfCq1KzM0XyU") == Operator(name: "wall", role: .look))
        for wrong in ["", "p9ZcSgN4mYx2w7QkLr5Tt", "p9ZcSgN4mYx2w7QkLr5TtAA", "p9ZcSgN4mYx2w7QkLr5Ttb"] {
            #expect(file.person(with: wrong) == nil)
        }
    }

    @Test(
        "A token file that says something else is refused with its line",
        arguments: ["", "# nothing", "act ada", "admin ada p9ZcSgN4mYx2w7QkLr5TtA", "act ada short"]
    )
    func wrongTokens(text: String) {
        #expect(throws: PageError.self) { try TokenFile(text: text, named: "tokens") }
    }

    @Test(
        "Only a path is a prefix",
        arguments: ["ops", "/ops/", "/", "/o\"ps", "/ops?x", "/ö", "//evil.example", "/../x"]
    )
    func prefix(prefix: String) async throws {
        let broker = try await Broker.inMemory()
        var options = OperatorPageOptions(access: .everybody)
        options.prefix = prefix
        #expect(throws: PageError.self) { try OperatorPage(broker, options: options) }
        await broker.close()
    }

    @Test("Names other than those of this machine need tokens or an authenticator")
    func hosts() async throws {
        let broker = try await Broker.inMemory()
        var options = OperatorPageOptions(access: .everybody)
        options.hosts = ["ops.example"]
        #expect(throws: PageError.self) { try OperatorPage(broker, options: options) }
        await broker.close()
    }

    @Test("Everybody may use the page at a loopback address alone")
    func addresses() async throws {
        let broker = try await Broker.inMemory()
        let page = try OperatorPage(broker, options: OperatorPageOptions(access: .everybody))
        #expect(throws: PageError.self) { try OperatorServer(page, address: "0.0.0.0", port: 0) }
        #expect(throws: Never.self) { try OperatorServer(page, address: "127.0.0.1", port: 0) }
        await broker.close()
    }

    @Test("A peer that takes nothing of an answer for long loses its connection, another does not")
    func stalledPeers() throws {
        for isSlow in [false, true] {
            let channel = EmbeddedChannel(handler: StalledPeerHandler())
            try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
            channel.isWritable = false
            channel.pipeline.fireChannelWritabilityChanged()
            channel.embeddedEventLoop.advanceTime(by: StalledPeerHandler.limit - .seconds(1))
            channel.isWritable = isSlow
            channel.pipeline.fireChannelWritabilityChanged()
            if !isSlow { channel.embeddedEventLoop.advanceTime(by: StalledPeerHandler.limit) }
            channel.embeddedEventLoop.advanceTime(by: .seconds(2))
            #expect(channel.isActive == isSlow)
        }
    }

    @Test("A place in a list is read as it was written, also with points in the name")
    func places() {
        let place = QueueSorting.Place(-3, 17, "a.b/c.")
        #expect(QueueSorting.Place(place.text) == place)
        #expect(QueueSorting.Place("x.1.a") == nil)
    }

    @Test("A list is cut after each page, and no queue is missing or twice", arguments: QueueSorting.allCases)
    func pages(sorting: QueueSorting) async throws {
        let broker = try await Broker.inMemory()
        let names = (0..<37).map { "queue/\($0)" }
        for (index, name) in names.enumerated() {
            let action = RawAction(queue: QueueName(name), kind: "k", payload: "{}")
            try await broker.enqueue(raw: Array(repeating: action, count: index % 3 + 1))
        }
        let board = Board()
        let following = Task { await board.follow(broker, SystemClock()) }
        try await board.waitForFirstRead(SystemClock())
        var found: [String] = []
        var next: QueueSorting.Place?
        repeat {
            let extract = board.extract(QueueFilter(), sorting, after: next, limit: 10)
            #expect(extract.count == names.count)
            #expect(extract.lanes.count <= 10)
            found += extract.lanes.map(\.status.queue.rawValue)
            next = extract.next
        } while next != nil
        #expect(found.sorted() == names.sorted())
        let filter = try QueueFilter(Form("name=queue/1*&state=stopped"))
        try await #expect(filter.queues(broker).count == 11)
        #expect(board.totals.actionCount == 73)
        following.cancel()
        await broker.close()
    }
}
#endif
