package io.homeostat.reconcile.command.output;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.base.Strings;
import io.homeostat.actuate.fetch.Downloader.Progress;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.reconcile.command.output.Ansi.Colour;
import java.io.PrintStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/** Shows people how a convergence goes. Called from many threads. */
public interface ProgressDisplay extends AutoCloseable {
    /** What is being done to a workload now. */
    void under(WorkloadId id, String what);

    /** A workload has come to an end, good or bad. */
    void result(WorkloadResult result);

    /** A workload has come to the end that was told of it before: it waited for others, or they for it. */
    void again(WorkloadId id);

    Progress download(WorkloadId id);

    @Override
    void close();

    private static String downloading(long done, long total) {
        return "downloading " + Text.bytes(done) + (total < 0 ? "" : " of " + Text.bytes(total));
    }

    /** One line for each change as soon as it is done, and one that says what is under way when nothing has been done for a while. */
    final class Plain implements ProgressDisplay {
        public static final Duration SILENCE = Duration.ofSeconds(10);
        private static final int NAMED = 3;

        private final Console console;
        private final String word;
        private final int width;
        private final Ticker ticker;
        private final long begin;
        private final Map<WorkloadId, String> active = new TreeMap<>();
        private final ScheduledExecutorService lines = Executors.newSingleThreadScheduledExecutor(
                Thread.ofPlatform().name("progress").daemon(true).factory());
        private boolean closed;

        /**
         * @param word the command, as typed
         * @param width of the column of workloads
         * @param silence between two lines about what is under way
         */
        public Plain(Console console, String word, int width, Duration silence, Ticker ticker) {
            this.console = console;
            this.word = word;
            this.width = width;
            this.ticker = ticker;
            this.begin = ticker.read();
            ScheduledFuture<?> _ = lines.scheduleAtFixedRate(
                    this::sayWhatIsUnderWay, silence.toMillis(), silence.toMillis(), TimeUnit.MILLISECONDS);
        }

        @Override
        public synchronized void under(WorkloadId id, String what) {
            active.put(id, Text.oneLine(what));
        }

        private synchronized void sayWhatIsUnderWay() {
            if (closed || active.isEmpty()) {
                return;
            }
            String first = active.entrySet().stream()
                    .limit(NAMED)
                    .map(entry -> entry.getKey() + " " + entry.getValue())
                    .collect(Collectors.joining(", "));
            int others = active.size() - NAMED;
            console.say(word + ": after " + Text.duration(Duration.ofNanos(ticker.read() - begin)) + ": " + first
                    + (others > 0 ? " and " + others + " more" : ""));
        }

        @Override
        public synchronized void result(WorkloadResult result) {
            active.remove(result.workload());
            if (result.kind() != WorkloadResult.Kind.UNCHANGED && !console.json()) {
                console.out().println(line(result, width, console.ansi()));
                console.out().flush();
            }
        }

        @Override
        public synchronized void again(WorkloadId id) {
            active.remove(id);
        }

        @Override
        public Progress download(WorkloadId id) {
            return (done, total) -> under(id, downloading(done, total));
        }

        @Override
        public synchronized void close() {
            closed = true;
            lines.shutdownNow();
            console.out().flush();
        }

        static String line(WorkloadResult result, int width, Ansi ink) {
            Colour colour = switch (result.kind()) {
                case CONVERGED, UNCHANGED, REMOVED -> Colour.GREEN;
                case WAITING -> Colour.YELLOW;
                case FAILED -> Colour.RED;
            };
            return Strings.padEnd(result.workload().toString(), width, ' ') + "  " + ink.paint(colour, result.words());
        }
    }

    /**
     * On a terminal: a block of lines at the bottom, one per workload in progress, drawn over and over; what is done is printed above it. The
     * block never outgrows the terminal: what has scrolled away can't be drawn over.
     */
    final class LiveDisplay implements ProgressDisplay {
        private static final long FRAME_MILLIS = 100;
        private static final int LEAST_ROWS = 4;

        private final Console console;
        private final PrintStream terminal;
        private final TerminalSize size;
        private final int width;
        private final Map<WorkloadId, String> active = new TreeMap<>();
        private final ScheduledExecutorService frames = Executors.newSingleThreadScheduledExecutor(
                Thread.ofPlatform().name("display").daemon(true).factory());
        private List<String> drawn = List.of();

        /** @param width of the column of workloads */
        public LiveDisplay(Console console, TerminalSize size, int width) {
            this.console = console;
            this.terminal = console.err();
            this.size = size;
            this.width = width;
            ScheduledFuture<?> _ =
                    frames.scheduleWithFixedDelay(this::draw, FRAME_MILLIS, FRAME_MILLIS, TimeUnit.MILLISECONDS);
        }

        @Override
        public synchronized void under(WorkloadId id, String what) {
            active.put(id, Text.oneLine(what));
        }

        @Override
        public synchronized void result(WorkloadResult result) {
            active.remove(result.workload());
            if (result.kind() != WorkloadResult.Kind.UNCHANGED && !console.json()) {
                erase();
                console.out().println(ProgressDisplay.Plain.line(result, width, console.ansi()));
                console.out().flush();
                draw();
            }
        }

        @Override
        public synchronized void again(WorkloadId id) {
            active.remove(id);
        }

        @Override
        public Progress download(WorkloadId id) {
            return (done, total) -> under(id, downloading(done, total));
        }

        private synchronized void draw() {
            List<String> lines = lines();
            if (!lines.equals(drawn)) {
                erase();
                lines.forEach(terminal::println);
                terminal.flush();
                drawn = lines;
            }
        }

        private List<String> lines() {
            int rows = Math.max(LEAST_ROWS, size.rows()) - 2;
            List<String> lines = new ArrayList<>();
            for (Map.Entry<WorkloadId, String> entry : active.entrySet()) {
                if (lines.size() == rows - 1 && active.size() > rows) {
                    lines.add("... and " + (active.size() - lines.size()) + " more");
                    break;
                }
                String line = Strings.padEnd(entry.getKey().toString(), width, ' ') + "  " + entry.getValue();
                lines.add(line.length() < size.columns() ? line : line.substring(0, Math.max(1, size.columns() - 1)));
            }
            return lines;
        }

        /** Up to the first line of the block, and everything from there on away (ECMA-48 CUU, ED). */
        private void erase() {
            if (!drawn.isEmpty()) {
                terminal.print("\u001b[" + drawn.size() + "A\r\u001b[J");
                terminal.flush();
                drawn = List.of();
            }
        }

        @Override
        public void close() {
            frames.shutdownNow();
            synchronized (this) {
                active.clear();
                erase();
            }
        }
    }
}
