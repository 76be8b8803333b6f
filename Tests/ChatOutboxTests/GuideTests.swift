#if GRDB
import Foundation
import Testing

/// The guide "A chat's outbox", whose program is `Examples/ChatOutbox` and whose tests are here.
@Suite("Guide: a chat's outbox") struct ChatOutboxGuideTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../..").standardized

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
    }

    /// The Swift files of a folder by their names, as a reader's are: without the condition of our package.
    private static func files(_ folder: String) throws -> [String: String] {
        let names = try FileManager.default.contentsOfDirectory(atPath: root.path + "/" + folder)
        var files: [String: String] = [:]
        for name in names where name.hasSuffix(".swift") && name != "GuideTests.swift" {
            let code = try text("\(folder)/\(name)").replacing("ChatOutbox\n", with: "Chat\n")
            let body = try #require(code.components(separatedBy: "#if GRDB\n").dropFirst().first, "\(name)")
            let end = body.range(of: "#else\n@main") ?? body.range(of: "#endif\n", options: .backwards)
            files[name] = String(body[..<(try #require(end, "\(name)")).lowerBound])
        }
        return files
    }

    private static func blocks() throws -> [String] {
        try text("Sources/Sluice/Sluice.docc/ChatOutbox.md").components(separatedBy: "```swift\n").dropFirst()
            .map { $0.components(separatedBy: "```")[0] }
    }

    @Test("Each file of the program is in the guide as it is compiled, and nothing else is")
    func program() throws {
        let files = try Self.files("Examples/ChatOutbox")
        let tests = try Self.files("Tests/ChatOutboxTests").values.joined(separator: "\n")
        var left = files
        for block in try Self.blocks() where !block.contains("import PackageDescription") {
            if let name = files.first(where: { $0.value == block })?.key {
                left[name] = nil
            } else {
                #expect(tests.contains(block), "\(block)")
            }
        }
        #expect(left.isEmpty, "\(left.keys)")
    }
}
#endif
