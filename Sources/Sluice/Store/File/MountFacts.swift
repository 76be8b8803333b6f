internal import CSluiceFiles

#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// The file system of a file, as the operating system describes it.
package struct MountFacts: Sendable, Hashable {
    /// The name of a file system whose files other machines may have open; `nil` for a local one.
    package var network: String?
    package var isReadOnly = false
    /// Whether the file alone is mounted at its path, so that its WAL would be in another place.
    package var isMountPoint = false

    /// Reads the mount of a file, or of its directory if it is missing; `nil` if the system gives no answer.
    package static func read(_ path: String) -> MountFacts? {
        var mount = csluice_files_mount()
        var place = path
        var code = csluice_files_mount_of(place, &mount)
        if code == ENOENT {
            place = directory(of: path)
            code = csluice_files_mount_of(place, &mount)
        }
        guard code == 0 else { return nil }
        let network = networkName(mount, place)
        let isAlone = place == path && isMountPoint(path)
        return MountFacts(network: network, isReadOnly: mount.is_read_only != 0, isMountPoint: isAlone)
    }

    private static func isMountPoint(_ path: String) -> Bool {
        guard let resolved = realpath(path, nil) else { return false }
        defer { free(resolved) }
        guard let table = FileFact.contents(ofProc: "/proc/self/mountinfo") else { return false }
        return isMountPoint(String(cString: resolved), in: table)
    }

    static func directory(of path: String) -> String {
        // To Swift, a slash followed by a combining letter is another character.
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    private static func networkName(_ mount: csluice_files_mount, _ path: String) -> String? {
        if let name = networkNames[mount.type] { return name }
        if mount.is_remote != 0 {
            return withUnsafeBytes(of: mount.name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        }
        guard mount.type == fuseNumber, let table = FileFact.contents(ofProc: "/proc/self/mountinfo"),
            let device = DatabaseFile.identity(of: path)?.device
        else { return nil }
        return fuseNetworkName(table, device: device)
    }

    /// The numbers of file systems that other machines may share: statfs(2) and the kernel's `magic.h`.
    static let networkNames: [UInt32: String] = [
        0x6969: "NFS", 0x517B: "SMB", 0xFF53_4D42: "CIFS", 0xFE53_4D42: "SMB2", 0x564C: "NCP",
        0x5346_414F: "AFS", 0x6B41_4653: "AFS", 0x7375_7245: "Coda", 0x00C3_6400: "Ceph",
        0x0102_1997: "9P", 0x0BD0_0BD0: "Lustre", 0x4750_4653: "GPFS", 0x1983_0326: "BeeGFS",
        0x2003_0528: "OrangeFS", 0x7461_636F: "OCFS2", 0x0116_1970: "GFS2", 0xAAD7_AAEA: "PanFS",
        0x0131_11A8: "IBRIX", 0xBACB_ACBC: "VMHGFS",
    ]

    /// The number of all file systems served by programs, local or remote.
    private static let fuseNumber: UInt32 = 0x6573_5546
    /// The names of remote ones in the table of mounts.
    private static let fuseNetworks: Set<String> = [
        "fuse.sshfs", "fuse.glusterfs", "fuse.ceph", "fuse.ceph-fuse", "fuse.s3fs", "fuse.gcsfuse",
        "fuse.rclone", "fuse.goofys", "fuse.curlftpfs", "fuse.davfs", "fuse.juicefs", "fuse.seaweedfs",
        "fuse.smbnetfs", "fuse.nfs", "fuse.blobfuse2",
    ]

    /// Returns the name of a device's mount in `/proc/self/mountinfo` (proc(5)), if other machines share it.
    static func fuseNetworkName(_ table: String, device: UInt64) -> String? {
        for line in table.split(separator: "\n") {
            let fields = line.split(separator: " ")
            guard fields.count > 6, fields[2] == "\(major(device)):\(minor(device))" else { continue }
            guard let dash = fields.firstIndex(of: "-"), dash + 1 < fields.count else { continue }
            let type = String(fields[dash + 1])
            return fuseNetworks.contains(type) ? type : nil
        }
        return nil
    }

    /// - Parameter table: Lines of `/proc/self/mountinfo`. The fifth field is the mount point, with spaces,
    ///   tabs, line breaks and backslashes as three octal digits.
    static func isMountPoint(_ path: String, in table: String) -> Bool {
        var escaped = ""
        for scalar in path.unicodeScalars {
            switch scalar {
            case " ": escaped += "\\040"
            case "\t": escaped += "\\011"
            case "\n": escaped += "\\012"
            case "\\": escaped += "\\134"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return table.utf8.split(separator: UInt8(ascii: "\n")).contains { line in
            let fields = line.split(separator: UInt8(ascii: " "), maxSplits: 5)
            return fields.count > 4 && fields[4].elementsEqual(escaped.utf8)
        }
    }

    // As the C library's macros split the numbers.
    private static func major(_ device: UInt64) -> UInt64 { (device >> 8) & 0xFFF | (device >> 32) & ~0xFFF }
    private static func minor(_ device: UInt64) -> UInt64 { device & 0xFF | (device >> 12) & ~0xFF }
}
