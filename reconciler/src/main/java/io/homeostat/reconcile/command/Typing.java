package io.homeostat.reconcile.command;

import com.google.protobuf.ByteString;
import io.homeostat.observe.process.TerminalMode.Size;
import io.homeostat.reconcile.command.Command.Reading;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.environment.Environment.Interrupts.Guard;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.util.Optional;
import java.util.concurrent.Semaphore;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Hands on what is typed, and how large the terminal is, to a command that runs elsewhere. Reads at most one piece that the command does not
 * take. A terminal is as it was when this is closed.
 */
public final class Typing implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Typing.class);
    private static final int PIECE = 32 * 1024;
    private static final Guard NONE = () -> {};

    /** Who takes it; each waits for its reader and returns false when there is none any more. */
    public interface Sink {
        boolean write(ByteString bytes) throws InterruptedException;

        boolean endInput() throws InterruptedException;

        boolean resize(int rows, int columns) throws InterruptedException;
    }

    private final Workspace workspace;
    private final Sink sink;
    private final Guard raw;
    private final Guard sizes;
    private final Semaphore resized = new Semaphore(0);
    private volatile boolean over;
    private @Nullable Thread typed;
    private @Nullable Thread sizing;

    private Typing(Workspace workspace, Reading reading, Sink sink) {
        this.workspace = workspace;
        this.sink = sink;
        // Who types nothing into it can end it by the keys that do that as a rule.
        this.raw = reading.terminal() && reading.input()
                ? workspace.environment().terminal().raw()
                : NONE;
        this.sizes = reading.terminal() ? workspace.environment().terminal().onResize(resized::release) : NONE;
    }

    /**
     * From now until it is closed.
     *
     * @throws CommandFailure when the terminal can't be used so
     */
    public static Typing begin(Workspace workspace, Reading reading, Sink sink) {
        Typing typing = new Typing(workspace, reading, sink);
        if (reading.terminal()) {
            typing.sizing = Thread.ofVirtual().name("terminal size").start(typing::handOnSizes);
        }
        if (reading.input()) {
            typing.typed = Thread.ofVirtual().name("standard input").start(typing::handOnInput);
        } else if (!reading.terminal()) {
            // Not here: to a command that has ended by now nobody can write before what it wrote is read.
            typing.typed = Thread.ofVirtual().name("standard input").start(typing::handOnNothing);
        }
        return typing;
    }

    private void handOnNothing() {
        try {
            sink.endInput();
        } catch (InterruptedException e) {
            LOG.trace("the command has ended");
        }
    }

    private void handOnInput() {
        byte[] piece = new byte[PIECE];
        InputStream in = workspace.environment().in();
        try {
            for (int length = in.read(piece); length >= 0; length = in.read(piece)) {
                if (over || !sink.write(ByteString.copyFrom(piece, 0, length))) {
                    return;
                }
            }
            sink.endInput();
        } catch (InterruptedException e) {
            LOG.trace("the command has ended");
        } catch (InterruptedIOException e) {
            LOG.trace("whoever typed is gone", e);
        } catch (IOException e) {
            end(e);
        }
    }

    private void end(IOException e) {
        if (over) {
            return;
        }
        workspace.console().say(workspace.word() + ": standard input can't be read, and ends here: " + e.getMessage());
        try {
            sink.endInput();
        } catch (InterruptedException ended) {
            LOG.trace("the command has ended");
        }
    }

    private void handOnSizes() {
        Optional<Size> told = Optional.empty();
        try {
            while (true) {
                // Asked for here and not where a change is noticed: two of them may be noticed by two threads, and the
                // older one told last.
                Optional<Size> size = workspace.environment().terminal().size();
                if (size.isPresent() && !size.equals(told)) {
                    if (!sink.resize(size.get().rows(), size.get().columns())) {
                        return;
                    }
                    told = size;
                }
                resized.acquire();
                resized.drainPermits();
            }
        } catch (InterruptedException e) {
            LOG.trace("the command has ended");
        }
    }

    /** The terminal is as it was from now on, for messages. */
    public void leaveTerminal() {
        raw.close();
    }

    @Override
    public void close() {
        over = true;
        raw.close();
        sizes.close();
        if (sizing != null) {
            sizing.interrupt();
        }
        if (typed != null) {
            // One that reads from a file or a terminal is left behind.
            typed.interrupt();
        }
    }
}
