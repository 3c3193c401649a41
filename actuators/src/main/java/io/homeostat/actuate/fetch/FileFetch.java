package io.homeostat.actuate.fetch;

import io.homeostat.actuate.Chunk;
import io.homeostat.actuate.Disk;
import io.homeostat.desired.model.Redaction;
import java.io.IOException;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** Opens an archive that is a file of this machine. */
final class FileFetch {
    private FileFetch() {}

    static Fetched open(Path file) throws FailedAttempt {
        try {
            // Looked at before it is opened: opening a FIFO would wait for a writer.
            if (Files.exists(file) && !Files.isRegularFile(file)) {
                throw FailedAttempt.giveUp("it is not a regular file");
            }
            FileChannel channel = FileChannel.open(file, StandardOpenOption.READ);
            return new Fetched(new FileBody(channel), 0, channel.size(), "", false);
        } catch (IOException e) {
            throw FailedAttempt.giveUp(Disk.reason(e), e);
        }
    }

    /** The path that a {@code file:} URL or an absolute path names. */
    static Path path(String url) throws FailedAttempt {
        try {
            return url.startsWith("/") ? Path.of(url) : Path.of(URI.create(url));
        } catch (IllegalArgumentException e) {
            throw FailedAttempt.fatal("'" + Redaction.url(url) + "' is not the path of a file; correct source.url");
        }
    }

    private record FileBody(FileChannel channel) implements Body {
        @Override
        public boolean fill(Chunk chunk, Deadline deadline) throws IOException, FailedAttempt {
            deadline.remaining();
            int count = channel.read(ByteBuffer.wrap(chunk.bytes, chunk.length, chunk.room()));
            chunk.length += Math.max(count, 0);
            return count > 0;
        }

        @Override
        public void close() throws IOException {
            channel.close();
        }
    }
}
