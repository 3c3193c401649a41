package io.homeostat.actuate.unpack;

import io.homeostat.actuate.Chunk;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import org.jspecify.annotations.Nullable;

/** Reads a stream on a thread of its own, so that decompressing and writing overlap. Owns the stream. */
final class ReadAhead extends InputStream {
    private static final int CHUNKS = 8;

    private final InputStream source;
    private final BlockingQueue<Chunk> free = new ArrayBlockingQueue<>(CHUNKS);
    private final BlockingQueue<Chunk> filled = new ArrayBlockingQueue<>(CHUNKS + 1);
    private final Thread thread;
    private volatile @Nullable Throwable broken;
    private @Nullable Chunk current;
    private int position;

    ReadAhead(InputStream source) {
        this.source = source;
        for (int i = 0; i < CHUNKS; i++) {
            free.add(Chunk.empty());
        }
        thread = Thread.ofPlatform().daemon().name("unpack").start(this::run);
    }

    private void run() {
        try {
            boolean more = true;
            while (more) {
                Chunk chunk = free.take();
                chunk.length = source.readNBytes(chunk.bytes, 0, chunk.bytes.length);
                more = chunk.length == chunk.bytes.length;
                filled.put(chunk);
            }
            filled.put(Chunk.END);
        } catch (InterruptedException e) {
            // Closed: nobody reads any more.
            return;
        } catch (IOException | RuntimeException | Error e) {
            broken = e;
            // There is always room for it, so the reader hears of it.
            boolean _ = filled.offer(Chunk.END);
        }
    }

    @Override
    public int read(byte[] into, int offset, int count) throws IOException {
        if (count == 0) {
            return 0;
        }
        Chunk chunk = current;
        if (chunk != null && chunk != Chunk.END && position == chunk.length) {
            free.add(chunk);
            chunk = null;
        }
        while (chunk == null) {
            chunk = next();
            position = 0;
            if (chunk.length == 0 && chunk != Chunk.END) {
                free.add(chunk);
                chunk = null;
            }
        }
        current = chunk;
        if (chunk == Chunk.END) {
            throwIfBroken();
            return -1;
        }
        int copied = Math.min(count, chunk.length - position);
        System.arraycopy(chunk.bytes, position, into, offset, copied);
        position += copied;
        return copied;
    }

    private Chunk next() throws InterruptedIOException {
        try {
            return filled.take();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("interrupted");
        }
    }

    private void throwIfBroken() throws IOException {
        Throwable cause = broken;
        switch (cause) {
            case null -> {
                return;
            }
            case EOFException e -> throw new EOFException("it is truncated");
            case IOException e -> throw e;
            default -> throw new IOException("reading ahead failed: " + cause, cause);
        }
    }

    @Override
    public int read() throws IOException {
        byte[] one = new byte[1];
        return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public void close() throws IOException {
        thread.interrupt();
        boolean interrupted = false;
        while (thread.isAlive()) {
            try {
                thread.join();
            } catch (InterruptedException e) {
                // The stream may only be closed when nobody reads it; the thread ends at the next chunk.
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        source.close();
    }
}
