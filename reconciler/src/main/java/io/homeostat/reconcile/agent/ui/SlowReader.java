package io.homeostat.reconcile.agent.ui;

import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.handler.codec.http.DefaultHttpContent;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.time.Duration;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/** Whoever reads a stream. What is kept for them is bounded by Netty's water mark; who does not read for so long is given up. */
final class SlowReader {
    private final Channel channel;
    private final Duration patience;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition moved = lock.newCondition();

    SlowReader(Channel channel, Duration patience) {
        this.channel = channel;
        this.patience = patience;
    }

    /** Called when that may have become possible, or will never be any more. */
    void moved() {
        lock.lock();
        try {
            moved.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Fails when nobody reads it any more. */
    void write(byte[] bytes) throws IOException {
        awaitRoom();
        ChannelFuture _ = channel.writeAndFlush(new DefaultHttpContent(Unpooled.wrappedBuffer(bytes)));
    }

    private void awaitRoom() throws IOException {
        lock.lock();
        try {
            long left = patience.toNanos();
            while (channel.isActive() && !channel.isWritable()) {
                if (left <= 0) {
                    ChannelFuture _ = channel.close();
                    throw new IOException("it was not read for " + patience.toSeconds() + " s");
                }
                left = moved.awaitNanos(left);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("interrupted while it was not read");
        } finally {
            lock.unlock();
        }
        if (!channel.isActive()) {
            throw new IOException("nobody reads it any more");
        }
    }
}
