package io.homeostat.reconcile.command.diagnostics;

import java.io.IOException;
import java.io.InputStream;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** Reads the end of a log. */
public final class LogEnd {
    private LogEnd() {}

    /**
     * The last whole lines of a file that a workload may have made itself.
     *
     * @param most bytes at most
     * @throws IOException when there is no regular file: a symlink could lead to anything that we may read
     */
    public static String of(Path file, int most) throws IOException {
        if (!Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)) {
            throw new IOException(
                    Files.exists(file, LinkOption.NOFOLLOW_LINKS) ? "it is no regular file" : "it is not there");
        }
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS)) {
            // One more than is kept, so that the first line is known to be a part of one.
            channel.position(Math.max(0, channel.size() - most - 1));
            LastBytes end = new LastBytes(most);
            InputStream in = Channels.newInputStream(channel);
            byte[] piece = in.readNBytes(most + 1);
            end.write(piece, 0, piece.length);
            return end.text();
        }
    }
}
