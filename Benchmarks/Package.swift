// swift-tools-version: 6.2
import PackageDescription

// A package of its own, so that users of the library never fetch what measuring needs.
let package = Package(
    name: "sluice-benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "sluice", path: ".."),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
        // Without its traits: they replace malloc and the runtime's retain and release.
        .package(url: "https://github.com/ordo-one/benchmark", .upToNextMinor(from: "1.38.0"), traits: []),
        .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
    ],
    targets: [
        // The physical reference: the bare statements of each workload, in C.
        .executableTarget(name: "Limit", path: "Limit", linkerSettings: [.linkedLibrary("sqlite3")]),
        // The same workloads through the library's public face: one of them, once.
        .executableTarget(
            name: "Workloads",
            dependencies: [
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Sluice", package: "sluice"),
            ]
        ),
        // What one would write by hand instead, on GRDB: one of the peers.
        .executableTarget(
            name: "GRDBQueue",
            dependencies: [
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "GRDB", package: "GRDB.swift"),
            ]
        ),
        // Loops without a disk or a second thread, for `swift package benchmark`.
        .executableTarget(
            name: "CoreLoops",
            dependencies: [
                .product(name: "Benchmark", package: "benchmark"),
                .product(name: "Sluice", package: "sluice"),
            ],
            path: "Benchmarks/CoreLoops",
            plugins: [.plugin(name: "BenchmarkPlugin", package: "benchmark")]
        ),
    ],
    swiftLanguageModes: [.v6],
    cLanguageStandard: .gnu2x
)

// The features of the library's own targets.
for target in package.targets where target.name != "Limit" {
    target.swiftSettings = [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InferIsolatedConformances"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    ]
}
