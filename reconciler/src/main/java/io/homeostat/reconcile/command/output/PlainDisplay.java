package io.homeostat.reconcile.command.output;

import com.google.common.base.Strings;
import io.homeostat.actuate.fetch.Progress;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.reconcile.command.output.Ansi.Colour;

/** One line a change, as soon as it is done; nothing while it is being done. */
public final class PlainDisplay implements Display {
    private final Console console;
    private final int width;

    /** @param width of the column of workloads */
    public PlainDisplay(Console console, int width) {
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
                console.out().println(line(result, width, console.ink()));
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
