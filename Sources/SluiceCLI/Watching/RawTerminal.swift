#if CommandLineTool
#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// A terminal in raw mode with an alternate screen, until it is restored.
struct RawTerminal {
    private let settings: termios

    /// Selects the alternate screen, clears it, hides the cursor, and does not wrap lines.
    private static let enter = "\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l\u{1B}[2J"
    private static let leave = "\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l"

    /// Switches the terminal to raw mode; `nil` without a terminal, or if it cannot move its cursor.
    ///
    /// Keys arrive one by one without an echo. Ctrl-C is still a signal. Ctrl-Z is a key, since a suspended
    /// screen would leave the shell without one.
    init?() {
        var settings = termios()
        guard Terminal.hasScreen, tcgetattr(STDIN_FILENO, &settings) == 0 else { return nil }
        if let kind = getenv("TERM"), String(cString: kind) == "dumb" { return nil }
        self.settings = settings
        settings.c_lflag &= ~tcflag_t(ICANON | ECHO | IEXTEN)
        settings.c_iflag &= ~tcflag_t(IXON)
        withUnsafeMutableBytes(of: &settings.c_cc) { characters in
            characters[Int(VMIN)] = 1
            characters[Int(VTIME)] = 0
            // _POSIX_VDISABLE, which no module exports: 0 on Linux, 255 on Apple's systems.
            #if canImport(Darwin)
            characters[Int(VSUSP)] = 255
            #else
            characters[Int(VSUSP)] = 0
            #endif
        }
        guard tcsetattr(STDIN_FILENO, TCSANOW, &settings) == 0 else { return nil }
        Terminal.draw(Self.enter)
    }

    /// Restores the terminal.
    func restore() {
        Terminal.draw(Self.leave)
        var settings = settings
        // Drop pending keys, which are not for the shell.
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &settings)
    }

    /// The current size, which changes when the window is resized.
    var size: ScreenSize {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
            return ScreenSize(columns: 80, rows: 24)
        }
        return ScreenSize(columns: Int(size.ws_col), rows: Int(size.ws_row))
    }

    /// Returns the bytes of pressed keys; empty at the end of the input.
    static func readKeys() -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: 1_024) { buffer, count in
            count = max(read(STDIN_FILENO, buffer.baseAddress, buffer.count), 0)
        }
    }
}
#endif
