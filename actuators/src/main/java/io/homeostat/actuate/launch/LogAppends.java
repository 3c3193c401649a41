package io.homeostat.actuate.launch;

import io.homeostat.actuate.SecureDirectories;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.LinkOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;

/** Appends to logs of workloads that are not programs of this host, and so write none themselves. */
public final class LogAppends {
    private final Layout layout;
    private final LogTurns turns;

    public LogAppends(Layout layout, LogTurns turns) {
        this.layout = layout;
        this.turns = turns;
    }

    /** What a log, or whoever reads one, has in the place of what is lost of it. */
    public static String lossLine(long bytes, String why) {
        return "\nhomeostat: " + bytes + " bytes that it printed are lost here: " + why + "\n";
    }

    /** Appends all that is left in a buffer. The log is made where there is none. */
    public void append(WorkloadId id, ByteBuffer bytes) throws IOException {
        SecureDirectories.create(layout.workloadState(id), SecureDirectories.OURS);
        try (LogTurns.Turn _ = turns.take(layout.log(id));
                FileChannel log = FileChannel.open(
                        layout.log(id),
                        Set.of(
                                StandardOpenOption.CREATE,
                                StandardOpenOption.WRITE,
                                StandardOpenOption.APPEND,
                                LinkOption.NOFOLLOW_LINKS),
                        PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")))) {
            while (bytes.hasRemaining()) {
                int _ = log.write(bytes);
            }
        }
    }
}
