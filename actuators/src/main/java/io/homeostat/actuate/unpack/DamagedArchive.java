package io.homeostat.actuate.unpack;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.file.FileSystemException;
import org.jspecify.annotations.Nullable;

/** An archive can't be read because of what it contains. The message is ours; what the libraries say is in the cause. */
final class DamagedArchive extends IOException {
    private static final long serialVersionUID = 1L;

    DamagedArchive(String message) {
        this(message, null);
    }

    private DamagedArchive(String message, @Nullable Throwable cause) {
        super(message, cause);
    }

    /**
     * What an exception means that was thrown while an archive was read. Libraries throw anything at what they do not expect.
     *
     * @param message says what is wrong with the archive, unless the exception says so or is not the archive's fault
     */
    static IOException of(String message, Throwable thrown) {
        return switch (thrown) {
            case DamagedArchive known -> known;
            case FileSystemException disk -> disk;
            case ClosedByInterruptException interrupted -> interrupted;
            case InterruptedIOException interrupted -> interrupted;
            case OutOfMemoryError none ->
                new FileSystemException(
                        null, null, "reading the archive takes more memory than Homeostat has; allow it more (-Xmx)");
            default -> new DamagedArchive(message, thrown);
        };
    }
}
