package io.homeostat.reconcile.command;

import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.function.Consumer;

/** Takes a workload's output apart into lines, without their ends. One that does not end for {@link #LONGEST} bytes is taken apart, too. */
public final class LogLineStream extends OutputStream {
    static final int LONGEST = 64 << 10;

    private final Consumer<String> lines;
    private final ByteArrayOutputStream begun = new ByteArrayOutputStream();

    public LogLineStream(Consumer<String> lines) {
        this.lines = lines;
    }

    @Override
    public void write(int b) {
        if (b == '\n') {
            end();
        } else {
            begun.write(b);
            if (begun.size() == LONGEST) {
                end();
            }
        }
    }

    @Override
    public void write(byte[] bytes, int offset, int length) {
        for (int i = offset; i < offset + length; i++) {
            write(bytes[i]);
        }
    }

    /** What has not ended by now is a line, too. */
    @Override
    public void flush() {
        if (begun.size() > 0) {
            end();
        }
    }

    private void end() {
        String line = begun.toString(StandardCharsets.UTF_8);
        begun.reset();
        lines.accept(line.endsWith("\r") ? line.substring(0, line.length() - 1) : line);
    }
}
