// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "outbox",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "sluice", path: "../sluice")],
    targets: [
        .executableTarget(name: "outbox", dependencies: [.product(name: "Sluice", package: "sluice")])
    ]
)
