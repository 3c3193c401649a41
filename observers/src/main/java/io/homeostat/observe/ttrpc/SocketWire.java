package io.homeostat.observe.ttrpc;

import io.homeostat.observe.process.WakeableThread;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.ClosedSelectorException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;

/** A socket that Java has a class for. */
public final class SocketWire implements Wire {
    private final SocketChannel channel;
    private final Selector readable;
    private final Selector writable;

    /** @param channel connected; closed with this, also when this fails */
    public SocketWire(SocketChannel channel) throws IOException {
        this.channel = channel;
        Selector reading = null;
        try {
            channel.configureBlocking(false);
            reading = Selector.open();
            writable = Selector.open();
            readable = reading;
            channel.register(readable, SelectionKey.OP_READ);
            channel.register(writable, SelectionKey.OP_WRITE);
        } catch (IOException e) {
            if (reading != null) {
                reading.close();
            }
            channel.close();
            throw e;
        }
    }

    @Override
    public int read(ByteBuffer into) throws IOException {
        int length = channel.read(into);
        while (length == 0) {
            await(readable);
            length = channel.read(into);
        }
        return length;
    }

    @Override
    public int write(ByteBuffer from) throws IOException {
        return channel.write(from);
    }

    @Override
    public void awaitRoom() throws IOException {
        await(writable);
    }

    private static void await(Selector selector) throws IOException {
        try {
            int _ = selector.select(key -> {});
        } catch (ClosedSelectorException e) {
            AsynchronousCloseException closed = new AsynchronousCloseException();
            closed.initCause(e);
            throw closed;
        }
    }

    @Override
    public void close() throws IOException {
        // Until it is with no selector any more it is only shut down.
        channel.close();
        WakeableThread.close(() -> {
            readable.close();
            writable.close();
        });
    }
}
