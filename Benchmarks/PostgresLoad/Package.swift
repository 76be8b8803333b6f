// swift-tools-version: 6.2
import PackageDescription

// A package of its own: it needs the trait PostgreSQL, and so libpq, which the other benchmarks do not.
let package = Package(
    name: "sluice-postgres-load",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "sluice", path: "../..", traits: ["PostgreSQL"])],
    targets: [
        .executableTarget(
            name: "PostgresLoad",
            dependencies: [
                .product(name: "Sluice", package: "sluice"),
                .product(name: "SluicePostgres", package: "sluice"),
            ],
            path: "Sources",
            swiftSettings: [
                .enableUpcomingFeature("ExistentialAny"),
                .enableUpcomingFeature("InternalImportsByDefault"),
                .enableUpcomingFeature("MemberImportVisibility"),
                .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
            ]
        )
    ],
    swiftLanguageModes: [.v6]
)
