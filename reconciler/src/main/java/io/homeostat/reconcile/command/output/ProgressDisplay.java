package io.homeostat.reconcile.command.output;

import com.google.common.base.Strings;
import io.homeostat.actuate.fetch.Downloader.Progress;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.reconcile.command.output.Ansi.Colour;

/** Shows people how a convergence goes. Called from many threads. */
public interface ProgressDisplay extends AutoCloseable {
    /** What a workload is at now. */
    void under(WorkloadId id, String what);

    /** A workload has come to an end, good or bad. */
    void result(WorkloadResult result);

    /** A workload has come to the same end again, that was told already: it waited for others, or they for it. */
    void again(WorkloadId id);

    /** How far a workload's download is. */
    Progress download(WorkloadId id);

    @Override
    void close();

    /** One line a change, as soon as it is done; nothing while it is being done. */
    final class Plain implements ProgressDisplay {
        private final Console console;
        private final int width;

        /** @param width of the column of workloads */
        public Plain(Console console, int width) {
            this.console = console;
            this.width = width;
        }

        @Override
        public void under(WorkloadId id, String what) {
            // Of interest only while it lasts.
        }

        @Override
        public void result(WorkloadResult result) {
            if (result.kind() != WorkloadResult.Kind.UNCHANGED && !console.json()) {
                synchronized (this) {
                    console.out().println(line(result, width, console.ansi()));
                    console.out().flush();
                }
            }
        }

        @Override
        public void again(WorkloadId id) {
            // Is written already.
        }

        @Override
        public Progress download(WorkloadId id) {
            return Progress.NONE;
        }

        @Override
        public void close() {
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
}
