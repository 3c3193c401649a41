package io.homeostat.observe.process;

import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Optional;

/** How a terminal of this process was before every byte came as it is typed, termios(3). Safe for use by several threads. */
public final class TerminalMode implements AutoCloseable {
    /** More than the structure has on any system: 60 bytes with glibc. */
    private static final long BYTES = 256;

    private final int descriptor;
    private final Arena arena = Arena.ofShared();
    private final MemorySegment before;
    private boolean restored;

    /** Rows and columns. */
    public record Size(int rows, int columns) {}

    private TerminalMode(int descriptor) {
        this.descriptor = descriptor;
        this.before = arena.allocate(BYTES, Long.BYTES);
    }

    /**
     * Has every byte come as it is typed, unseen, also those that are signals as a rule.
     *
     * @throws IOException when this is no terminal
     */
    public static TerminalMode raw(int descriptor) throws IOException {
        TerminalMode mode = new TerminalMode(descriptor);
        int failed = Libc.terminalMode(descriptor, mode.before);
        if (failed == 0) {
            MemorySegment raw = mode.arena.allocate(BYTES, Long.BYTES);
            raw.copyFrom(mode.before);
            Libc.makeRaw(raw);
            failed = Libc.setTerminalMode(descriptor, raw);
        }
        if (failed < 0) {
            mode.arena.close();
            throw new IOException("the mode of the terminal can't be changed, errno " + -failed);
        }
        return mode;
    }

    /** How large a terminal is; empty when it does not know, or is none. */
    public static Optional<Size> size(int descriptor) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment size = arena.allocate(JAVA_SHORT, 4);
            if (Libc.terminalSize(descriptor, size) < 0) {
                return Optional.empty();
            }
            int rows = Short.toUnsignedInt(size.getAtIndex(JAVA_SHORT, 0));
            int columns = Short.toUnsignedInt(size.getAtIndex(JAVA_SHORT, 1));
            return rows > 0 && columns > 0 ? Optional.of(new Size(rows, columns)) : Optional.empty();
        }
    }

    /** Once; a terminal that is gone needs nothing. */
    @Override
    public synchronized void close() {
        if (!restored) {
            restored = true;
            int _ = Libc.setTerminalMode(descriptor, before);
            arena.close();
        }
    }
}
