package io.homeostat.reconcile.agent.ui;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;

/** Makes server-sent events of what a command prints, one of each line, whole: several of these may write to one reader. */
final class EventStream extends OutputStream {
    private static final int LONGEST = 1 << 20;

    private final SlowReader reader;
    private final String begin;
    private final ByteArrayOutputStream line = new ByteArrayOutputStream();

    /** @param name of these events; empty: the usual ones */
    EventStream(SlowReader reader, String name) {
        this.reader = reader;
        this.begin = (name.isEmpty() ? "" : "event: " + name + "\n") + "data: ";
    }

    @Override
    public void write(int b) throws IOException {
        if (b == '\n') {
            String data = line.toString(StandardCharsets.UTF_8);
            line.reset();
            reader.write((begin + data + "\n\n").getBytes(StandardCharsets.UTF_8));
        } else if (line.size() == LONGEST) {
            throw new IOException("a line of more than " + LONGEST + " bytes");
        } else {
            // A carriage return would end a line, too.
            line.write(b == '\r' ? ' ' : b);
        }
    }

    @Override
    public void write(byte[] bytes, int offset, int length) throws IOException {
        for (int i = offset; i < offset + length; i++) {
            write(bytes[i]);
        }
    }
}
