package io.homeostat.reconcile.command.output;

import com.google.common.base.Strings;
import com.google.common.collect.ImmutableList;
import io.homeostat.reconcile.command.output.Ansi.Colour;
import io.homeostat.reconcile.plan.Plan;
import io.homeostat.reconcile.plan.WorkloadPlan;
import io.homeostat.reconcile.plan.WorkloadPlan.Bucket;
import java.io.PrintStream;
import java.util.List;
import java.util.function.ToIntFunction;

/** A plan for people; its form is a public interface. */
public final class PlanText {
    /** Narrower columns are widened, so that most plans look alike. */
    private static final int WORKLOAD_WIDTH = 24;

    private static final int ACTION_WIDTH = 28;
    private static final int GAP = 2;

    private PlanText() {}

    public static void print(Plan plan, Console console) {
        PrintStream out = console.out();
        ImmutableList<Line> lines = plan.workloads().stream()
                .filter(workload -> workload.bucket() != Bucket.UNCHANGED || workload.isDisabledAtRest())
                .map(Line::of)
                .collect(ImmutableList.toImmutableList());
        int workloadWidth = GAP + width(lines, line -> line.workload.length(), WORKLOAD_WIDTH);
        int actionWidth = GAP + width(lines, line -> line.action.length(), ACTION_WIDTH);
        for (Line line : lines) {
            out.println("  " + console.ink().paint(line.colour, line.symbol) + " "
                    + Strings.padEnd(line.workload, workloadWidth, ' ')
                    + Strings.padEnd(line.action, actionWidth, ' ') + "(" + line.message + ")");
        }
        if (!lines.isEmpty()) {
            out.println();
        }
        out.println(console.ink().paint(Colour.BOLD, "Plan:") + " " + summary(plan));
    }

    private static String summary(Plan plan) {
        int waiting = plan.count(Bucket.WAITING);
        return plan.count(Bucket.INSTALL) + " to install, "
                + plan.count(Bucket.UPDATE) + " to update, "
                + plan.count(Bucket.REPAIR) + " to repair, "
                + plan.count(Bucket.REMOVE) + " to remove, "
                + (waiting > 0 ? waiting + " waiting, " : "")
                + plan.count(Bucket.UNCHANGED) + " unchanged.";
    }

    private static int width(List<Line> lines, ToIntFunction<Line> length, int least) {
        return Math.max(least, lines.stream().mapToInt(length).max().orElse(0));
    }

    private record Line(String symbol, Colour colour, String workload, String action, String message) {
        static Line of(WorkloadPlan plan) {
            String message = OneLine.of(plan.message());
            return new Line(
                    symbol(plan.bucket()),
                    colour(plan.bucket()),
                    plan.workload().toString(),
                    ActionWords.of(plan),
                    plan.reason().isDrift() ? "drift: " + message : message);
        }

        private static String symbol(Bucket bucket) {
            return switch (bucket) {
                case INSTALL -> "+";
                case UPDATE -> "~";
                case REPAIR -> "!";
                case REMOVE -> "-";
                case WAITING -> ".";
                case UNCHANGED -> " ";
            };
        }

        private static Colour colour(Bucket bucket) {
            return switch (bucket) {
                case INSTALL -> Colour.GREEN;
                case UPDATE -> Colour.YELLOW;
                case REPAIR -> Colour.MAGENTA;
                case REMOVE -> Colour.RED;
                case WAITING, UNCHANGED -> Colour.FAINT;
            };
        }
    }
}
