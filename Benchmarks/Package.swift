// swift-tools-version: 6.2
import PackageDescription

// A package of its own, so that users of the library never fetch what measuring needs.
let package = Package(
    name: "sluice-benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "sluice", path: ".."),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
    ],
    targets: [
        // One workload, once: what it took goes to standard output.
        .executableTarget(
            name: "SluiceBench",
            dependencies: [
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Sluice", package: "sluice"),
            ]
        )
    ],
    swiftLanguageModes: [.v6]
)
