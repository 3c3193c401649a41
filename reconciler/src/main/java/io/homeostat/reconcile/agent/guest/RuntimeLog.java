package io.homeostat.reconcile.agent.guest;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The log of a command of the runtime, read while that runs. A container can have the runtime write lines without end, so neither the file
 * nor what is in memory of it grows with them.
 */
final class RuntimeLog implements AutoCloseable {
    /** The bytes that are read at once: far more than any line of the runtime has. */
    private static final int CHUNK = 16 << 10;

    /** The most bytes of the file: one that is longer is emptied. */
    private static final int MOST = 64 << 10;

    /** The most chunks that are read at a time: far more than a runtime writes between two times. */
    private static final int MOST_CHUNKS = 64;

    private static final ObjectMapper MAPPER = new ObjectMapper();

    private final FileChannel file;
    private final ByteBuffer chunk = ByteBuffer.allocate(CHUNK);
    private @Nullable Integer status;

    private RuntimeLog(FileChannel file) {
        this.file = file;
    }

    /** @param path of a file that the runtime appends to; it may be deleted then */
    static RuntimeLog open(Path path) throws IOException {
        return new RuntimeLog(FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE));
    }

    /** Returns what the runtime has logged last. */
    String end() throws IOException {
        ByteBuffer last = ByteBuffer.allocate(CHUNK);
        int length = file.read(last, Math.max(0, file.size() - CHUNK));
        return new String(last.array(), 0, Math.max(0, length), StandardCharsets.UTF_8);
    }

    /** Reads on. Returns the exit status that the runtime has logged for a process so far. */
    Optional<Integer> statusOf(long pid) throws IOException {
        for (int i = 0; i < MOST_CHUNKS && status == null && file.read(chunk) > 0; i++) {
            readLines(Long.toString(pid));
            if (!chunk.hasRemaining()) {
                chunk.clear();
            }
        }
        bound();
        return Optional.ofNullable(status);
    }

    /** Empties the file when it is too long. */
    void bound() throws IOException {
        if (file.size() > MOST) {
            // Lines that came meanwhile are lost. They are needed only of a runtime that does not end with the process.
            file.truncate(0);
            chunk.clear();
        }
    }

    private void readLines(String pid) {
        int begin = 0;
        for (int at = 0; at < chunk.position(); at++) {
            if (chunk.get(at) == '\n') {
                String line = new String(chunk.array(), begin, at - begin, StandardCharsets.UTF_8);
                if (status == null && line.contains(pid)) {
                    status = status(line, pid);
                }
                begin = at + 1;
            }
        }
        chunk.limit(chunk.position()).position(begin).compact();
    }

    private static @Nullable Integer status(String line, String pid) {
        try {
            JsonNode message = MAPPER.readTree(line);
            JsonNode status = message.path("status");
            return message.path("pid").asText().equals(pid) && status.isInt() ? status.asInt() : null;
        } catch (JsonProcessingException e) {
            // Of somebody else, as of a library that could not be loaded.
            return null;
        }
    }

    @Override
    public void close() throws IOException {
        file.close();
    }
}
