import TestSupport
import Testing

@Suite("The shape of the sources", .watched)
struct ShapeTests {
    /// The folders of the engine: a file uses types of its own folder, of those before it, and of the root,
    /// which has the nouns of the public face.
    static let layers = [
        "Contexts", "Gates", "Sealing", "Schema", "Payload", "Retry", "Disciplines", "Status", "Acts",
        "Store/File", "Store/Processes", "Store/WAL", "Store/Order", "Store/Admission", "Store/Transaction",
        "Store/Disciplines", "Store/Actions", "Store/Controls", "Store/Claims", "Store/Operate",
        "Store/Commit", "Store/Inspect", "Store",
        "Routing", "Middleware", "Metrics", "Observation", "Handles", "WakeUps",
        "Scheduling/StateMachine", "Scheduling", "Running",
        "Engine", "FileEngine", "Broker",
    ]

    private static let module = "Sources/Sluice/"

    /// The folders of the engine on PostgreSQL, in the same way.
    static let layersOnPostgres = ["Connection", "Schema", "Reading", "Enqueuing", "Running", "Engine"]

    /// The public face, and lists of thin calls.
    private static let largeTypes: Set = ["Broker", "FileEngine", "ServerEngine", "Store"]

    private static let engine = Shape(Repository.swiftSources(below: [module]))
    private static let moduleOnPostgres = "Sources/SluicePostgres/"
    private static let engineOnPostgres = Shape(Repository.swiftSources(below: [moduleOnPostgres]))

    @Test("A file uses no type of a layer above its own")
    func uses() {
        expectNone(Self.engine.upwardUses(in: Self.module, Self.layers))
        expectNone(Self.engineOnPostgres.upwardUses(in: Self.moduleOnPostgres, Self.layersOnPostgres))
    }

    @Test("No type has more than 600 lines with all its extensions, but those that are named")
    func types() {
        for module in [
            "Sluice", "SluiceBackground", "SluiceObservation", "SluiceJSON", "SluiceSQLite", "SluiceGRDB",
            "SluicePostgres", "SluiceTestKit", "SluiceWeb", "SluiceCLI",
        ] {
            let shape = Shape(Repository.swiftSources(below: ["Sources/\(module)/"]))
            expectNone(shape.largeTypes(limit: 600, except: Self.largeTypes))
        }
    }

    @Test("Types stand in files of their names, but for a few small ones")
    func names() {
        let found = Shape(Repository.swiftSources(below: ["Sources/"])).misfiled()
        #expect(found.count <= 30, "\(found)")
    }

    @Test("No folder has more than 25 files")
    func folders() {
        let files = Repository.current.files.filter { $0.hasPrefix("Sources/") && $0.hasSuffix(".swift") }
        let folders = Dictionary(grouping: files) {
            $0.split(separator: "/").dropLast().joined(separator: "/")
        }
        let crowded = folders.filter { $0.value.count > 25 }.keys.sorted()
        #expect(crowded.isEmpty, "\(crowded)")
    }

    @Test("There is one public face: no protocol of brokers, and no overload that gives way to another")
    func oneBroker() throws {
        let interfaces = Repository.current.files.filter { $0.hasPrefix("Interface/") }
        #expect(interfaces.count > 5)
        for path in interfaces {
            let lines = String(decoding: try Repository.current.data(of: path), as: UTF8.self).split(
                separator: "\n"
            )
            let faces = lines.filter { $0.hasPrefix("ActionBroker:") || $0.hasPrefix("PostgresBroker:") }
            #expect(faces.isEmpty, "\(path)")
        }
        let attribute = "@_disfavored" + "Overload"
        for source in Repository.swiftSources(below: ["Sources/"]) {
            #expect(!source.lines.contains { $0.code.contains(attribute) }, "\(source.path)")
        }
    }

    @Test("A use of a layer above, a large type and a type in a file of another name are found")
    func finds() {
        let low = SwiftSource(path: "Sources/Sluice/Low/A.swift", text: "struct A {\n    let b: High\n}\n")
        let lines = String(repeating: "    // a\n", count: 6)
        let high = SwiftSource(
            path: "Sources/Sluice/Top/B.swift",
            text: "struct High {\n\(lines)}\n\nextension High {\n\(lines)}\n"
        )
        let shape = Shape([low, high])
        let upward = shape.upwardUses(in: "Sources/Sluice/", ["Low", "Top"]).map(\.description)
        #expect(upward == ["Sources/Sluice/Low/A.swift:2: High belongs to 'Top', a layer above 'Low'"])
        #expect(shape.upwardUses(in: "Sources/Sluice/", ["Top", "Low"]).isEmpty)
        #expect(shape.misfiled().map(\.message) == ["High is in a file of another name"])
        let large = shape.largeTypes(limit: 15, except: []).map(\.message)
        #expect(large == ["High has 16 lines in 2 parts, 15 at most"])
        #expect(shape.largeTypes(limit: 15, except: ["High"]).isEmpty)
    }
}
