#if os(Linux)
import Foundation
import Glibc
import SluiceSQLite
import SluiceTestKit
import Synchronization
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("Files that may not be written", .watched)
final class PermissionTests {
    private static let isRoot = geteuid() == 0
    /// That of the last refusal.
    private let lastMessage = Mutex("")

    /// Opens a store as a user whom permissions concern.
    ///
    /// Root, as whom tests may run, gives up its rights on a thread of its own: the system keeps them by
    /// thread. It takes them back before anything else is woken, because a thread that is started inherits
    /// them.
    private func openUnprivileged(
        _ path: String,
        as user: uid_t = 65_534,
        adjust: @escaping @Sendable (inout BrokerOptions) -> Void = { _ in }
    ) async throws -> SluiceError.Code? {
        switch try await result(opening: path, as: user, adjust: adjust) {
        case .failure(let error):
            lastMessage.withLock { $0 = error.message }
            return error.code
        case .success(let store):
            await store.close()
            return nil
        }
    }

    private func result(
        opening path: String,
        as user: uid_t,
        adjust: @escaping @Sendable (inout BrokerOptions) -> Void
    ) async throws -> Result<Store, SluiceError> {
        try await onOwnThread {
            let isRoot = geteuid() == 0
            var options = BrokerOptions.on(ManualClock())
            adjust(&options)
            if isRoot { Self.setUser(user) }
            defer { if isRoot { Self.setUser(0) } }
            return Result { () throws(SluiceError) in try Store(.file(path), options: options) { _ in } }
        }
    }

    /// Sets whose rights this thread has with files.
    ///
    /// Swift's module of the C library lacks the function.
    private static func setUser(_ user: uid_t) {
        typealias SetUser = @convention(c) (uid_t) -> CInt
        guard let symbol = dlsym(nil, "setfsuid") else { return }
        _ = unsafeBitCast(symbol, to: SetUser.self)(user)
    }

    private func file(mode: Int, directoryMode: Int) async throws -> TemporaryFile {
        let file = try TemporaryFile()
        try await openAndClose(file.path)
        let directory = URL(fileURLWithPath: file.path).deletingLastPathComponent().path
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file.path)
        try FileManager.default.setAttributes([.posixPermissions: directoryMode], ofItemAtPath: directory)
        return file
    }

    @Test(
        "A file that may not be written is refused and stays as it is",
        arguments: [
            (0o444, 0o777, [SluiceError.Code.readOnly]), (0o444, 0o555, [.readOnly]),
            (0o666, 0o555, [.readOnly]), (0o000, 0o777, [.cannotOpen, .readOnly]),
        ]
    )
    func readOnly(_ mode: Int, _ directoryMode: Int, _ codes: [SluiceError.Code]) async throws {
        let file = try await file(mode: mode, directoryMode: directoryMode)
        let before = try contents(besides: file.path)
        let code = try #require(try await openUnprivileged(file.path))
        #expect(codes.contains(code), "\(code)")
        var after = try contents(besides: file.path)
        // SQLite may leave an empty index of the log where it may write.
        after["queues.sqlite-shm"] = nil
        if after["queues.sqlite-wal"]?.isEmpty == true { after["queues.sqlite-wal"] = nil }
        #expect(after == before)
        let directory = URL(fileURLWithPath: file.path).deletingLastPathComponent().path
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: directory)
    }

    @Test(
        "The role readOnly opens it where SQLite can read it, and stands in the error where it cannot",
        arguments: [
            (0o444, 0o777, nil), (0o444, 0o555, nil), (0o000, 0o777, SluiceError.Code.cannotOpen),
        ]
    )
    func role(_ mode: Int, _ directoryMode: Int, _ code: SluiceError.Code?) async throws {
        let file = try await file(mode: mode, directoryMode: directoryMode)
        let before = try contents(besides: file.path)
        let found = try await openUnprivileged(file.path) { $0.file.role = .readOnly }
        #expect(found == code)
        #expect(try contents(besides: file.path) == before)
        let directory = URL(fileURLWithPath: file.path).deletingLastPathComponent().path
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: directory)
    }

    /// A file of a user's own, whose directory others can write too.
    private func file(of owner: uid_t) async throws -> TemporaryFile {
        let file = try await file(mode: 0o644, directoryMode: 0o777)
        try #require(chown(file.path, owner, owner) == 0)
        return file
    }

    @Test(
        "A look by a user who may only read leaves nothing, and reads what the owner writes",
        .enabled(if: isRoot)
    )
    func look() async throws {
        let file = try await file(of: 65_533)
        let before = try contents(besides: file.path)
        let store = try await result(opening: file.path, as: 65_534) {
            $0.file.role = .readOnly
            $0.file.sharesFile = true
        }.get()
        func count() async throws -> Int? {
            try await store.read { try $0.prepare("SELECT count(*) FROM sluice_actions").first { $0.int(0) } }
        }
        try await #expect(count() == 0)
        #expect(try contents(besides: file.path) == before)
        // The owner opens it and writes: what was read without locks is known to be old.
        let broker = try await Broker(file: file.path)
        try await broker.enqueue(Note("a"))
        try await #expect(count() == 1)
        await broker.close()
        try await #expect(count() == 1)
        await store.close()
        for name in try contents(besides: file.path).keys {
            let directory = URL(fileURLWithPath: file.path).deletingLastPathComponent()
            let owner = try FileManager.default
                .attributesOfItem(atPath: directory.appendingPathComponent(name).path)[.ownerAccountID]
            #expect(owner as? Int == 65_533, "\(name)")
        }
    }

    @Test("What another user has left beside a file is removed when nobody uses it", .enabled(if: isRoot))
    func leftovers() async throws {
        let file = try await file(of: 65_533)
        for suffix in ["-wal", "-shm"] {
            try Data().write(to: URL(fileURLWithPath: file.path + suffix))
            try #require(chown(file.path + suffix, 65_534, 65_534) == 0)
            try #require(chmod(file.path + suffix, 0o644) == 0)
        }
        #expect(try await openUnprivileged(file.path, as: 65_533) == nil)
        #expect(try contents(besides: file.path).keys.sorted() == ["queues.sqlite"])
    }

    @Test(
        "What another user has left and uses is in the way, and the error says whose it is",
        .enabled(if: isRoot)
    )
    func leftoverInUse() async throws {
        let file = try await file(of: 65_533)
        // As the shell does: it makes both files, and they are its user's.
        let shell = try Connection(path: file.path, mode: .read)
        _ = try shell.pragma("user_version")
        for suffix in ["-wal", "-shm"] { try #require(chown(file.path + suffix, 65_534, 65_534) == 0) }
        #expect(try await openUnprivileged(file.path, as: 65_533) == .readOnly)
        let message = lastMessage.withLock { $0 }
        #expect(message.contains("queues.sqlite-") && message.contains("65534"), "\(message)")
        #expect(message.contains("(process \(getpid())) has open"), "\(message)")
        shell.close()
    }

    @Test("A new file in a directory that may not be written is refused")
    func directory() async throws {
        let file = try TemporaryFile()
        let directory = URL(fileURLWithPath: file.path).deletingLastPathComponent().path
        try FileManager.default.setAttributes([.posixPermissions: 0o555], ofItemAtPath: directory)
        #expect(try await openUnprivileged(file.path) == .readOnly)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == [])
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: directory)
    }
}
#endif
