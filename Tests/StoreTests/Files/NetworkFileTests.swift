import Foundation
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("Files on network file systems", .watched) struct NetworkFileTests {
    @Test(
        "A file on a network file system is refused in every role, by its name, and nothing is made",
        arguments: [BrokerRole.run, .enqueueOnly, .readOnly]
    )
    func refused(_ role: BrokerRole) async throws {
        let file = try TemporaryFile()
        let error = await #expect(throws: SluiceError.self) {
            try await openAndClose(file.path) {
                $0.file.role = role
                $0.file.mountFacts = { _ in MountFacts(network: "NFS") }
            }
        }
        #expect(error?.code == .networkFileSystem)
        #expect(error?.message.contains("NFS") == true)
        #expect(error?.message.contains("a disk of this machine") == true)
        #expect(try contents(besides: file.path).isEmpty)
    }

    @Test("A file whose file system the system does not tell is opened")
    func unknown() async throws {
        let file = try TemporaryFile()
        try await openAndClose(file.path) { $0.file.mountFacts = { _ in nil } }
        #expect(try contents(besides: file.path).count == 1)
    }

    @Test("The system is asked about the file, or about its directory where it is missing")
    func asked() throws {
        let file = try TemporaryFile()
        let facts = try #require(MountFacts.read(file.path))
        #expect(facts == MountFacts())
        try Data().write(to: URL(fileURLWithPath: file.path))
        #expect(MountFacts.read(file.path) == facts)
        #expect(MountFacts.read(file.path + "/no/such") == nil)
        for (path, directory) in [("/a/b", "/a"), ("/a", "/"), ("a", "."), ("a/b/c", "a/b")] {
            #expect(MountFacts.directory(of: path) == directory)
        }
    }

    @Test("Of file systems that a program serves, those of other machines are told by the table of mounts")
    func fuse() {
        let table = """
            22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw
            90 22 0:51 / /mnt/a\\040b rw,nosuid shared:9 master:1 - fuse.sshfs ada@host:/ rw,user_id=0
            91 22 0:300 / /mnt/c rw - fuse.ntfs-3g /dev/vdb1 rw
            """
        // Minor numbers above 255 have their upper bits behind the major's.
        let device = { (minor: UInt64) in minor & 0xFF | (minor & ~0xFF) << 12 }
        #expect(MountFacts.fuseNetworkName(table, device: device(51)) == "fuse.sshfs")
        #expect(MountFacts.fuseNetworkName(table, device: device(300)) == nil)
        #expect(MountFacts.fuseNetworkName(table, device: 254 << 8 | 1) == nil)
        #expect(MountFacts.fuseNetworkName(table, device: device(52)) == nil)
        #expect(MountFacts.fuseNetworkName("", device: device(51)) == nil)
    }

    @Test("A file that is mounted by itself is refused, and found by its path as the table of mounts has it")
    func mountPoint() async throws {
        let site = try Site()
        let error = await #expect(throws: SluiceError.self) {
            _ = try await site.broker { $0.file.mountFacts = { _ in MountFacts(isMountPoint: true) } }
        }
        #expect(error?.code == .cannotOpen && error?.message.contains("directory") == true)
        let table = #"""
            36 35 98:0 / /data rw,noatime - ext4 /dev/sda rw
            37 35 98:0 /a/q.sqlite /data/q.sqlite rw,noatime master:1 - ext4 /dev/sda rw
            38 35 98:0 /b /data/my\040\134queues\012.sqlite rw - ext4 /dev/sda rw
            """#
        for path in ["/data", "/data/q.sqlite", "/data/my \\queues\n.sqlite"] {
            #expect(MountFacts.isMountPoint(path, in: table), "\(path)")
        }
        for path in ["/dat", "/data/q.sqlite2", "/a/q.sqlite", "98:0", ""] {
            #expect(!MountFacts.isMountPoint(path, in: table), "\(path)")
        }
        // The file system of processes is a mount on each Linux.
        #if os(Linux)
        #expect(MountFacts.read("/proc")?.isMountPoint == true)
        #expect(MountFacts.read("/proc/self")?.isMountPoint == false)
        #endif
    }

    #if os(Linux)
    @Test("The numbers are those of the kernel, and of no file system of one machine")
    func numbers() {
        for (number, name) in [
            (0x6969 as UInt32, "NFS"), (0xFF53_4D42, "CIFS"), (0xFE53_4D42, "SMB2"), (0x0102_1997, "9P"),
            (0x00C3_6400, "Ceph"), (0x0BD0_0BD0, "Lustre"), (0x4750_4653, "GPFS"),
        ] {
            #expect(MountFacts.networkNames[number] == name)
        }
        // ext4, XFS, Btrfs, tmpfs, overlay, FUSE, F2FS, ZFS, bcachefs.
        for number: UInt32 in [
            0xEF53, 0x5846_5342, 0x9123_683E, 0x0102_1994, 0x794C_7630, 0x6573_5546, 0xF2F5_2010,
            0x2FC1_2FC1, 0xCA45_1A4E,
        ] {
            #expect(MountFacts.networkNames[number] == nil)
        }
    }
    #endif
}
