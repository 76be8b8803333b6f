// swift-tools-version: 6.2
import PackageDescription

// Fetched with the trait alone.
func product(_ name: String, of package: String, with trait: String) -> Target.Dependency {
    .product(name: name, package: package, condition: .when(traits: [trait]))
}

let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
// What the tool, the demo and tests need and the libraries do not.
let argumentParser = product("ArgumentParser", of: "swift-argument-parser", with: "CommandLineTool")
let subprocess = product("Subprocess", of: "swift-subprocess", with: "CommandLineTool")
let systemPackage = product("SystemPackage", of: "swift-system", with: "CommandLineTool")
let serviceLifecycle = product("ServiceLifecycle", of: "swift-service-lifecycle", with: "ServiceLifecycle")
// What serves the operator's page.
let web = [
    ("HTTPTypes", "swift-http-types"), ("Hummingbird", "hummingbird"), ("HummingbirdCore", "hummingbird"),
    ("NIOCore", "swift-nio"), ("NIOHTTPTypes", "swift-nio-extras"),
    ("ServiceLifecycle", "swift-service-lifecycle"),
].map { product($0, of: $1, with: "Web") }
let webTest = [
    ("HTTPTypes", "swift-http-types"), ("NIOCore", "swift-nio"), ("NIOEmbedded", "swift-nio"),
    ("NIOHTTPTypes", "swift-nio-extras"),
].map { product($0, of: $1, with: "Web") }
let tracing = product("Tracing", of: "swift-distributed-tracing", with: "Tracing")
let grdb = product("GRDB", of: "GRDB.swift", with: "GRDB")
let libpq: Target.Dependency = .target(name: "CSluicePostgres", condition: .when(traits: ["PostgreSQL"]))

// Targets stand in the order of the layers: each knows only what is above it in this file.
let package = Package(
    name: "sluice",
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        .library(name: "Sluice", targets: ["Sluice"]),
        .library(name: "SluiceBackground", targets: ["SluiceBackground"]),
        .library(name: "SluiceObservation", targets: ["SluiceObservation"]),
        .library(name: "SluiceGRDB", targets: ["SluiceGRDB"]),
        .library(name: "SluiceCrypto", targets: ["SluiceCrypto"]),
        .library(name: "SluicePostgres", targets: ["SluicePostgres"]),
        .library(name: "SluiceWeb", targets: ["SluiceWeb"]),
        .library(name: "SluiceTestKit", targets: ["SluiceTestKit"]),
        .executable(name: "sluice", targets: ["SluiceCLI"]),
        .executable(name: "sluice-demo", targets: ["SluiceDemo"]),
        .executable(name: "sluice-chat-outbox", targets: ["ChatOutbox"]),
        .executable(name: "sluice-matrix-outbox", targets: ["MatrixOutbox"]),
    ],
    traits: [
        .trait(
            name: "CommandLineTool",
            description: "Builds the tool and the demo, with what parses arguments and starts processes."
        ),
        .trait(
            name: "ServiceLifecycle",
            description: "Makes Broker a Service of swift-service-lifecycle."
        ),
        .trait(name: "Metrics", description: "Reports what brokers do to swift-metrics."),
        .trait(
            name: "Tracing",
            description: "Links attempts to their enqueuers' traces, by swift-distributed-tracing."
        ),
        .trait(name: "GRDB", description: "Fills the product SluiceGRDB: queues in a GRDB database."),
        .trait(name: "Crypto", description: "Fills the product SluiceCrypto: payloads that are sealed."),
        .trait(name: "PostgreSQL", description: "Fills SluicePostgres: the queues of many machines."),
        .trait(name: "Web", description: "Fills SluiceWeb, and adds `sluice serve`: the operator's page."),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.1.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.5.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.2"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
        .package(url: "https://github.com/apple/swift-system", from: "1.5.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.8.0"),
        .package(url: "https://github.com/swiftlang/swift-subprocess", from: "1.0.0"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.0.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0", traits: []),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-nio-extras.git", from: "1.34.1"),
    ],
    targets: [
        // The system's SQLite, as it is.
        .systemLibrary(name: "CSluiceSQLite", providers: [.apt(["libsqlite3-dev"])]),
        // The system's client library of PostgreSQL, as it is.
        .systemLibrary(name: "CSluicePostgres", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        // The SQL files of Migrations/, embedded byte for byte.
        .target(name: "CSluiceMigrations"),
        // The kind of a file system: the C library knows it, and Swift's module of it does not.
        .target(name: "CSluiceFiles"),
        // Connections, statements, rows, transactions, result codes; nothing of queues.
        .target(name: "SluiceSQLite", dependencies: ["CSluiceSQLite"]),
        // Codable values as JSON text and back; nothing of queues.
        .target(name: "SluiceJSON"),
        // Store, scheduler, broker.
        .target(
            name: "Sluice",
            dependencies: [
                "CSluiceFiles",
                "CSluiceMigrations",
                "SluiceJSON",
                "SluiceSQLite",
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "HashTreeCollections", package: "swift-collections"),
                .product(name: "HeapModule", package: "swift-collections"),
                logging,
                serviceLifecycle,
                product("Metrics", of: "swift-metrics", with: "Metrics"),
                tracing,
            ]
        ),
        // Runs a broker while the system lets the application work.
        .target(name: "SluiceBackground", dependencies: ["Sluice", logging]),
        // Models of actions and queues for views; gates that probes keep.
        .target(name: "SluiceObservation", dependencies: ["Sluice"]),
        // Queues in the database of an application that uses GRDB; empty without the trait.
        .target(
            name: "SluiceGRDB",
            dependencies: ["Sluice", grdb]
        ),
        // Payloads that are sealed with keys of the application's; empty without the trait.
        .target(
            name: "SluiceCrypto",
            dependencies: [
                "Sluice",
                product("Crypto", of: "swift-crypto", with: "Crypto"),
            ]
        ),
        // The queues of many machines, in a PostgreSQL database; empty without the trait.
        .target(name: "SluicePostgres", dependencies: [libpq, "Sluice", serviceLifecycle, logging]),
        // The operator's page, for a browser; empty without the trait.
        .target(
            name: "SluiceWeb",
            dependencies: ["Sluice", logging] + web,
            resources: [.embedInCode("Assets/page.css"), .embedInCode("Assets/page.js")]
        ),
        // What a user's tests need: a manual clock, temporary files, events to wait for.
        .target(name: "SluiceTestKit", dependencies: ["Sluice"]),
        // The width of characters on a terminal: the C library knows it, and Swift's module of it does not.
        .target(name: "CSluiceTerminal"),
        // The process that starts the tool's commands and ends them if the tool is killed: it is forked.
        .target(name: "CSluiceCommands"),
        // The command-line tool.
        .executableTarget(
            name: "SluiceCLI",
            dependencies: [
                "CSluiceCommands",
                "CSluiceTerminal",
                "Sluice",
                "SluiceBackground",
                "SluiceJSON",
                "SluicePostgres",
                "SluiceWeb",
                argumentParser,
                logging,
                systemPackage,
            ]
        ),
        // `make demo`.
        .executableTarget(
            name: "SluiceDemo",
            dependencies: ["Sluice", "SluicePostgres", argumentParser, subprocess, systemPackage],
            path: "Examples/Demo"
        ),
        // A chat's outbox in a GRDB database.
        .executableTarget(
            name: "ChatOutbox",
            dependencies: ["Sluice", "SluiceGRDB", "SluiceObservation", grdb, logging],
            path: "Examples/ChatOutbox",
            exclude: ["server.py"]
        ),
        // The program that the tutorial ends with.
        .executableTarget(name: "TutorialOutbox", dependencies: ["Sluice"], path: "Examples/Tutorial"),
        // A Matrix client's outbox in a GRDB database.
        .executableTarget(
            name: "MatrixOutbox",
            dependencies: ["Sluice", "SluiceGRDB", "SluiceObservation", argumentParser, grdb],
            path: "Examples/MatrixOutbox",
            exclude: ["README.md", "Server"]
        ),
        // Core loops, for `make bench-check` to count; here, because it reaches below the public face.
        .executableTarget(
            name: "Counted",
            dependencies: ["SluiceSQLite", "Sluice"],
            path: "Benchmarks/Counted"
        ),
        // What tests of several targets have in common.
        .target(
            name: "TestSupport",
            dependencies: ["SluiceSQLite", "Sluice", "SluicePostgres", "SluiceTestKit", logging],
            path: "Tests/TestSupport"
        ),
        // What every broker promises, whatever keeps its queues; run with the settings of a release too.
        .testTarget(
            name: "ConformanceTests",
            dependencies: ["Sluice", "SluicePostgres", "SluiceTestKit", "TestSupport"]
        ),
        .testTarget(
            name: "SluiceSQLiteTests",
            dependencies: ["SluiceSQLite", "SluiceTestKit", "TestSupport"]
        ),
        // A disk, memory and a system that fail when a test asks them to.
        .target(name: "FaultVFS", dependencies: ["CSluiceSQLite"], path: "Tests/FaultVFS"),
        .testTarget(
            name: "SluiceObservationTests",
            dependencies: ["Sluice", "SluiceObservation", "SluiceSQLite", "SluiceTestKit", "TestSupport"]
        ),
        .testTarget(
            name: "SluiceGRDBTests",
            dependencies: [
                "Sluice",
                "SluiceGRDB",
                "SluiceTestKit",
                "TestSupport",
                logging,
                grdb,
            ]
        ),
        .testTarget(
            name: "SluiceCryptoTests",
            dependencies: [
                "SluiceSQLite",
                "Sluice",
                "SluiceCrypto",
                "SluiceTestKit",
                "TestSupport",
                logging,
                product("Crypto", of: "swift-crypto", with: "Crypto"),
            ]
        ),
        .testTarget(
            name: "SluiceWebTests",
            dependencies: ["Sluice", "SluiceWeb", "SluiceTestKit", "TestSupport"] + webTest
        ),
        // What happens when the process dies; the child is started and killed by the tests.
        .executableTarget(
            name: "CrashChild",
            dependencies: ["FaultVFS", "SluiceSQLite", "Sluice", "SluiceTestKit", "TestSupport"],
            path: "Tests/CrashChild"
        ),
        // One of several processes on a file, which writes down what it does.
        .executableTarget(
            name: "HistoryWorker",
            dependencies: [libpq, "SluiceSQLite", "Sluice", "SluicePostgres", "TestSupport"],
            path: "Tests/HistoryWorker"
        ),
        // A simulated machine whose processes, disk and clocks a seed decides; its disk is in C.
        .target(name: "WorldDisk", dependencies: ["CSluiceSQLite"], path: "Tests/WorldDisk"),
        .executableTarget(
            name: "World",
            dependencies: ["WorldDisk", "SluiceSQLite", "Sluice", "SluicePostgres", logging],
            path: "Tests/World"
        ),
        .testTarget(name: "WorldTests", dependencies: ["TestSupport", "World"]),
        // Writes to the engine's file by way of GRDB; without the trait it says that it cannot.
        .executableTarget(
            name: "PoolWriter",
            dependencies: [grdb],
            path: "Tests/PoolWriter"
        ),
        .testTarget(
            name: "CrashTests",
            dependencies: [
                "SluiceJSON",
                "CrashChild",
                "HistoryWorker",
                "PoolWriter",
                "SluiceSQLite",
                "Sluice",
                "SluiceCLI",
                "SluiceTestKit",
                "TestSupport",
                subprocess,
                systemPackage,
            ]
        ),
        // The built tool, as a user runs it.
        .testTarget(
            name: "CLITests",
            dependencies: [
                "SluiceJSON",
                "SluiceSQLite",
                "Sluice",
                "SluiceCLI",
                "SluicePostgres",
                "SluiceTestKit",
                "TestSupport",
                subprocess,
                systemPackage,
            ]
        ),
        .testTarget(
            name: "ExamplesTests",
            dependencies: [
                "ChatOutbox",
                "Sluice",
                "SluiceDemo",
                "SluiceTestKit",
                "TestSupport",
                "TutorialOutbox",
                grdb,
                subprocess,
                systemPackage,
            ]
        ),
        // The tests of the guide "A chat's outbox", compiled as a user's are.
        .testTarget(
            name: "ChatOutboxTests",
            dependencies: ["ChatOutbox", "Sluice", "SluiceGRDB", "SluiceTestKit", grdb]
        ),
        // A Matrix server under load, killed and cut off, and what it has in the end.
        .testTarget(
            name: "MatrixTests",
            dependencies: ["MatrixOutbox", "TestSupport", subprocess, systemPackage]
        ),
        // What users write, compiled as their modules are: without the features below.
        .testTarget(
            name: "ClientTests",
            dependencies: ["Sluice", "SluiceGRDB", "SluiceObservation", "SluiceTestKit", grdb, logging]
        ),
        // The rules of this repository, as tests.
        .testTarget(name: "TidyTests", dependencies: ["CSluiceMigrations", "TestSupport", subprocess]),
    ],
    swiftLanguageModes: [.v6],
    cLanguageStandard: .gnu2x
)

// The tests of the engine, a target for each part, and what these have in common.
let engineTests: [Target.Dependency] = [
    "CSluiceSQLite", "FaultVFS", "Sluice", "SluiceBackground", "SluiceJSON", "SluicePostgres", "SluiceSQLite",
    "SluiceTestKit", "TestSupport", libpq, logging, serviceLifecycle, subprocess, systemPackage, tracing,
    product("InMemoryTracing", of: "swift-distributed-tracing", with: "Tracing"),
    product("MetricsTestKit", of: "swift-metrics", with: "Metrics"),
]
package.targets.append(.testTarget(name: "EngineSupport", dependencies: engineTests))
package.targets += [
    "StoreTests", "SchedulingTests", "BrokerTests", "SluiceTests", "TraitTests", "PostgresTests",
].map {
    .testTarget(name: $0, dependencies: engineTests + ["EngineSupport"])
}

// `.ci/fuzz` sets it to libFuzzer's library: the tool becomes one too, and what reads input is instrumented.
if let fuzzer = Context.environment["SLUICE_FUZZ"] {
    package.products.removeAll { $0.name == "sluice" }
    package.targets = package.targets.filter { $0.type != .test }.map { target in
        let instrumented = ["SluiceSQLite", "SluiceJSON", "Sluice", "SluiceBackground", "SluiceCLI"]
        guard instrumented.contains(target.name) else { return target }
        return .target(
            name: target.name,
            dependencies: target.dependencies,
            swiftSettings: [.define("FUZZING"), .unsafeFlags(["-sanitize=fuzzer"])]
        )
    }
    package.targets.append(
        .executableTarget(
            name: "Fuzz",
            dependencies: [
                "SluiceSQLite",
                "SluiceJSON",
                "Sluice",
                "SluiceCLI",
                argumentParser,
            ],
            path: "Tests/Fuzz",
            exclude: ["Corpus"],
            linkerSettings: [.unsafeFlags([fuzzer]), .linkedLibrary("stdc++")]
        )
    )
}

// The only test targets to build, where more would take minutes: see .ci/.
if let chosen = Context.environment["SLUICE_TESTS"]?.split(separator: ",").map(String.init) {
    package.targets.removeAll { $0.type == .test && !chosen.contains($0.name) }
}

// `make test` and CI set this: a warning in this package is an error. Dependencies are not concerned.
let isStrict = Context.environment["SLUICE_STRICT"] != nil
// `.ci/mutants` sets this: guards can be taken out, one at a time, to see that a test goes red.
let hasMutants = Context.environment["SLUICE_MUTANTS"] != nil

// One set of features for every target, except those that show what a user's module has.
for target in package.targets where target.type != .system {
    if isStrict {
        target.cSettings = (target.cSettings ?? []) + [.treatAllWarnings(as: .error)]
        target.swiftSettings = (target.swiftSettings ?? []) + [.treatAllWarnings(as: .error)]
    }
    if hasMutants { target.swiftSettings = (target.swiftSettings ?? []) + [.define("SLUICE_MUTANTS")] }
    if ["ClientTests", "ChatOutbox", "ChatOutboxTests"].contains(target.name) { continue }
    target.swiftSettings =
        (target.swiftSettings ?? []) + [
            .enableUpcomingFeature("ExistentialAny"),
            .enableUpcomingFeature("InferIsolatedConformances"),
            .enableUpcomingFeature("InternalImportsByDefault"),
            .enableUpcomingFeature("MemberImportVisibility"),
            .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
        ]
}
