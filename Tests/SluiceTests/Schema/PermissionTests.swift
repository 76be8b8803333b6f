#if os(Linux)
import Foundation
import Glibc
import SluiceSQLite
import SluiceTestKit
import TestSupport
import Testing

@testable import Sluice

@Suite("Files that may not be written")
struct PermissionTests {
    /// Opens a store as a user whom permissions concern.
    ///
    /// Root, as whom tests may run, gives up its rights on a thread of its own: the system keeps them by
    /// thread. It takes them back before anything else is woken, because a thread that is started inherits
    /// them.
    private func openUnprivileged(
        _ path: String,
        adjust: @escaping @Sendable (inout BrokerOptions) -> Void = { _ in }
    ) async throws -> SluiceError.Code? {
        let opened = try await onOwnThread {
            let isRoot = geteuid() == 0
            var options = BrokerOptions.on(ManualClock())
            adjust(&options)
            if isRoot { Self.setUser(65_534) }
            defer { if isRoot { Self.setUser(0) } }
            return Result { () throws(SluiceError) in try Store(.file(path), options: options) { _ in } }
        }
        switch opened {
        case .failure(let error): return error.code
        case .success(let store):
            await store.close()
            return nil
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
            (0o444, 0o777, false, nil), (0o444, 0o555, false, SluiceError.Code.readOnly),
            (0o444, 0o555, true, nil), (0o000, 0o777, false, .cannotOpen),
        ]
    )
    func role(
        _ mode: Int,
        _ directoryMode: Int,
        _ isMountReadOnly: Bool,
        _ code: SluiceError.Code?
    ) async throws {
        let file = try await file(mode: mode, directoryMode: directoryMode)
        let before = try contents(besides: file.path)
        let found = try await openUnprivileged(file.path) {
            $0.role = .readOnly
            $0.mountFacts = { _ in MountFacts(isReadOnly: isMountReadOnly) }
        }
        #expect(found == code)
        var after = try contents(besides: file.path)
        // SQLite cannot take away again what it made for who may not write the file.
        if directoryMode == 0o777 { after["queues.sqlite-shm"] = nil }
        if after["queues.sqlite-wal"]?.isEmpty == true { after["queues.sqlite-wal"] = nil }
        #expect(after == before)
        let directory = URL(fileURLWithPath: file.path).deletingLastPathComponent().path
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: directory)
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
