package io.homeostat.actuate;

import com.google.common.io.BaseEncoding;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;

/** SHA-256 on a thread of its own, so that hashing and waiting for the network or the disk overlap. */
final class HashingThread implements AutoCloseable {
    private static final int CHUNKS = 8;

    private final MessageDigest digest = sha256();
    private final BlockingQueue<Chunk> free = new ArrayBlockingQueue<>(CHUNKS);
    private final BlockingQueue<Chunk> filled = new ArrayBlockingQueue<>(CHUNKS + 1);
    private final Thread thread;

    HashingThread() {
        for (int i = 0; i < CHUNKS; i++) {
            free.add(Chunk.empty());
        }
        // A platform thread: hashing never waits for anything, so on a carrier it would keep others from running.
        thread = Thread.ofPlatform().daemon().name("sha256").start(this::run);
    }

    /** An empty chunk to fill; waits until the hashing has caught up. */
    Chunk take() throws InterruptedException {
        Chunk chunk = free.take();
        chunk.length = 0;
        return chunk;
    }

    /** Hands a chunk over, after all those handed over before. */
    void hash(Chunk chunk) throws InterruptedException {
        filled.put(chunk);
    }

    /** The hash of everything handed over, in lower-case hexadecimal. Nothing can be added after it. */
    String finish() throws InterruptedException {
        filled.put(Chunk.END);
        thread.join();
        return BaseEncoding.base16().lowerCase().encode(digest.digest());
    }

    @Override
    public void close() {
        thread.interrupt();
    }

    private void run() {
        try {
            for (Chunk chunk = filled.take(); chunk != Chunk.END; chunk = filled.take()) {
                digest.update(chunk.bytes, 0, chunk.length);
                free.put(chunk);
            }
        } catch (InterruptedException e) {
            // Closed before the end: nobody will ask for the hash.
            return;
        }
    }

    private static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256, this one does not", e);
        }
    }
}
