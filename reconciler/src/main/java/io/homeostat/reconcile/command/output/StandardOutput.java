package io.homeostat.reconcile.command.output;

import java.io.BufferedOutputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/** A stream of this process that knows when nobody reads it any more. */
public final class StandardOutput extends PrintStream {
    private static final int BUFFER = 8192;

    private final UntilNobodyReads end;

    public StandardOutput(OutputStream out) {
        this(new UntilNobodyReads(out));
    }

    private StandardOutput(UntilNobodyReads end) {
        super(new BufferedOutputStream(end, BUFFER), false, StandardCharsets.UTF_8);
        this.end = end;
    }

    /** As far as the last thing written has shown. */
    boolean isRead() {
        return end.isRead();
    }
}
