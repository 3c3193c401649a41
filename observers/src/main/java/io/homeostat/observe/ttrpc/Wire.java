package io.homeostat.observe.ttrpc;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;

/** A connection. One thread at a time reads and one writes; buffers are direct. */
public interface Wire extends Closeable {
    /** Waits until there is something; -1 at the end. */
    int read(ByteBuffer into) throws IOException;

    /** Writes as much as there is room for now, which may be nothing. */
    int write(ByteBuffer from) throws IOException;

    /** Waits until there may be room. */
    void awaitRoom() throws IOException;

    /** Whoever waits stops, with an error. */
    @Override
    void close() throws IOException;
}
