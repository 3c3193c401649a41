package io.homeostat.reconcile.runtime.kata;

import com.google.protobuf.ByteString;
import io.homeostat.proto.kata.Process;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.BlockingDeque;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingDeque;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/** A process that a test plays: it prints and ends when the test says so, and remembers what it is sent. */
final class MemoryProcess {
    private static final int SIGNAL_BASE = 128;
    private static final int SIGKILL = 9;
    private static final int SIGTERM = 15;
    private static final long POLL_MILLIS = 1;

    private final Process spec;
    private final BlockingDeque<ByteString> output = new LinkedBlockingDeque<>();
    private final BlockingDeque<ByteString> errors = new LinkedBlockingDeque<>();
    private final CompletableFuture<Integer> status = new CompletableFuture<>();
    private final List<Integer> signals = new CopyOnWriteArrayList<>();
    private volatile ByteString input = ByteString.EMPTY;
    private volatile boolean inputHasEnded;
    private volatile boolean ignoresSignals;
    private volatile int takesAtMost = Integer.MAX_VALUE;
    private volatile String size = "";

    MemoryProcess(Process spec) {
        this.spec = spec;
    }

    Process spec() {
        return spec;
    }

    void print(String text) {
        output.add(ByteString.copyFromUtf8(text));
    }

    void printError(String text) {
        errors.add(ByteString.copyFromUtf8(text));
    }

    void exit(int code) {
        boolean _ = status.complete(code);
    }

    boolean isRunning() {
        return !status.isDone();
    }

    CompletableFuture<Integer> status() {
        return status;
    }

    /** Makes it survive all signals but SIGKILL to the whole container. */
    void ignoreSignals() {
        ignoresSignals = true;
    }

    void signal(int number) {
        signals.add(number);
        if (!ignoresSignals && (number == SIGKILL || number == SIGTERM)) {
            exit(SIGNAL_BASE + SIGKILL);
        }
    }

    List<Integer> signals() {
        return List.copyOf(signals);
    }

    /** How many bytes of its input it takes with each call. */
    void takeAtMost(int bytes) {
        takesAtMost = bytes;
    }

    synchronized int take(ByteString bytes) {
        int taken = Math.min(bytes.size(), takesAtMost);
        input = input.concat(bytes.substring(0, taken));
        return taken;
    }

    ByteString input() {
        return input;
    }

    void endInput() {
        inputHasEnded = true;
    }

    boolean hasInputEnded() {
        return inputHasEnded;
    }

    void resize(int rows, int columns) {
        size = rows + "x" + columns;
    }

    /** The size of its terminal as it was set last, such as {@code 24x80}. */
    String size() {
        return size;
    }

    /**
     * Returns the next piece of a stream, empty at its end; or nothing within a moment.
     *
     * @param givenUp whether nobody waits for it any more, so that it is left for the next caller
     */
    Optional<ByteString> read(boolean isError, BooleanSupplier givenUp) throws InterruptedException {
        BlockingDeque<ByteString> stream = isError ? errors : output;
        boolean over = !isRunning();
        ByteString next = stream.poll(POLL_MILLIS, TimeUnit.MILLISECONDS);
        if (next != null && givenUp.getAsBoolean()) {
            stream.addFirst(next);
            return Optional.empty();
        }
        return next == null && over ? Optional.of(ByteString.EMPTY) : Optional.ofNullable(next);
    }
}
