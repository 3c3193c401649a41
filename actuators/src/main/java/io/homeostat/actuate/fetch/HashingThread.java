package io.homeostat.actuate.fetch;

import io.homeostat.actuate.Chunk;
import io.homeostat.actuate.archive.Sha256;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** SHA-256 on a thread of its own, so that hashing and waiting for the network or the disk overlap. */
final class HashingThread implements AutoCloseable {
    private static final int CHUNKS = 8;

    private final BlockingQueue<Chunk> free = new ArrayBlockingQueue<>(CHUNKS);
    private final BlockingQueue<Chunk> filled = new ArrayBlockingQueue<>(CHUNKS + 1);
    private final Thread thread;
    private volatile @Nullable String result;
    private boolean used;

    HashingThread() {
        for (int i = 0; i < CHUNKS; i++) {
            free.add(Chunk.empty());
        }
        // A platform thread: hashing never waits for anything, so on a carrier it would keep others from running.
        thread = Thread.ofPlatform().daemon().name("sha256").start(this::run);
    }

    /** An empty chunk to fill; waits until the hashing has caught up. */
    Chunk take() throws InterruptedException {
        Chunk chunk = free.poll();
        while (chunk == null) {
            chunk = free.poll(1, TimeUnit.SECONDS);
            if (chunk == null && !thread.isAlive()) {
                throw new IllegalStateException("the thread that computes the SHA-256 has ended");
            }
        }
        chunk.length = 0;
        return chunk;
    }

    /** Hands a chunk over, after all those handed over before. */
    void hash(Chunk chunk) throws InterruptedException {
        used |= chunk.length > 0;
        filled.put(chunk);
    }

    /** Whether anything has been handed over. */
    boolean isUsed() {
        return used;
    }

    /** The hash of everything handed over, in lower-case hexadecimal. Nothing can be added after it. */
    String finish() throws InterruptedException {
        used = true;
        filled.put(Chunk.END);
        thread.join();
        String hash = result;
        if (hash == null) {
            throw new IllegalStateException("the thread that computes the SHA-256 has ended without one");
        }
        return hash;
    }

    @Override
    public void close() {
        thread.interrupt();
    }

    private void run() {
        try (Sha256 sha256 = Sha256.start()) {
            for (Chunk chunk = filled.take(); chunk != Chunk.END; chunk = filled.take()) {
                sha256.update(chunk.bytes, chunk.length);
                free.put(chunk);
            }
            result = sha256.finish();
        } catch (InterruptedException e) {
            // Closed before the end: nobody will ask for the hash.
            return;
        }
    }
}
