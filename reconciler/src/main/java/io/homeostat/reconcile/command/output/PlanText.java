package io.homeostat.reconcile.command.output;

import com.google.common.base.Strings;
import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.VisibleText;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.reconcile.command.output.Ansi.Colour;
import io.homeostat.reconcile.plan.Plan;
import io.homeostat.reconcile.plan.WorkloadPlan;
import io.homeostat.reconcile.plan.WorkloadPlan.Bucket;
import io.homeostat.reconcile.plan.WorkloadPlan.Change;
import io.homeostat.reconcile.plan.WorkloadPlan.Facts;
import java.io.PrintStream;
import java.util.List;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;

/** A plan for people; its form is a public interface. */
public final class PlanText {
    /** Narrower columns are widened, so that most plans look alike. */
    private static final int WORKLOAD_WIDTH = 24;

    private static final int ACTION_WIDTH = 28;
    private static final int GAP = 2;
    private static final String INDENT = "        ";

    /** Of a value, in characters; programs get all of it. */
    private static final int LONGEST_VALUE = 60;

    private static final int CONTEXT = 20;

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
            out.println("  " + console.ansi().paint(line.colour, line.symbol) + " "
                    + Strings.padEnd(line.workload, workloadWidth, ' ')
                    + Strings.padEnd(line.action, actionWidth, ' ') + "(" + VisibleText.lines(line.message) + ")");
            line.changes.forEach(change -> out.println(INDENT + VisibleText.lines(change)));
        }
        if (!lines.isEmpty()) {
            out.println();
        }
        out.println(console.ansi().paint(Colour.BOLD, "Plan:") + " " + summary(plan));
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

    /** To be done: "upgrade A1B2 -> C3D4". */
    static String toDo(WorkloadPlan plan) {
        String verb = plan.action().word();
        return switch (plan.action()) {
            case INSTALL, REINSTALL -> join(verb, revision(plan.after()));
            case UPGRADE, ROLLBACK -> join(verb, revision(plan.before()), "->", revision(plan.after()));
            case REMOVE -> join(verb, revision(plan.before()));
            case DECLARE, CONFIGURE, UPDATE, RELOAD, RESTART, ACTIVATE, STOP, RUN, CLEANUP, WAIT, NONE -> verb;
        };
    }

    /** Done: "upgraded A1B2 -> C3D4", "restarted (arguments changed)". */
    static String done(WorkloadPlan plan) {
        return switch (plan.action()) {
            case DECLARE -> "declared";
            case INSTALL -> join("installed", revision(plan.after()));
            case UPGRADE -> join("upgraded", revision(plan.before()), "->", revision(plan.after()));
            case ROLLBACK -> {
                String done = join("rolled back", revision(plan.before()), "->", revision(plan.after()));
                // Whoever asked for it knows why.
                yield plan.reason() == Reason.ROLLED_BACK ? done : because(done, plan);
            }
            case REINSTALL -> because(join("reinstalled", revision(plan.after())), plan);
            case REMOVE -> join("removed", revision(plan.before()));
            case CONFIGURE -> "configured";
            case UPDATE -> because("updated", plan);
            case RELOAD -> because("reloaded", plan);
            case RESTART -> because("restarted", plan);
            case ACTIVATE -> because("activated", plan);
            case STOP -> because("stopped", plan);
            case RUN -> because("ran", plan);
            case CLEANUP -> because("cleaned up", plan);
            // It was under way already and only had to be waited for.
            case WAIT -> "started";
            case NONE -> "unchanged";
        };
    }

    private static String because(String words, WorkloadPlan plan) {
        return words + " (" + Text.oneLine(plan.message()) + ")";
    }

    private static String revision(@Nullable Facts facts) {
        return facts == null ? "" : Text.oneLine(facts.revision());
    }

    private static String join(String... words) {
        StringBuilder text = new StringBuilder();
        for (String word : words) {
            if (!word.isEmpty()) {
                text.append(text.isEmpty() ? "" : " ").append(word);
            }
        }
        return text.toString();
    }

    private static int width(List<Line> lines, ToIntFunction<Line> length, int least) {
        return Math.max(least, lines.stream().mapToInt(length).max().orElse(0));
    }

    /** "spec.health.interval: 10s -> 5s"; what is new or gone altogether has no values to compare. */
    public static ImmutableList<String> changes(WorkloadPlan plan) {
        return plan.changes().stream().map(PlanText::change).collect(ImmutableList.toImmutableList());
    }

    /** Long values from a little before where they differ. */
    private static String change(Change change) {
        String before = change.before() == null ? "(none)" : Text.oneLine(change.before());
        String after = change.after() == null ? "(none)" : Text.oneLine(change.after());
        int same = Strings.commonPrefix(before, after).length();
        return change.path() + ": " + excerpt(before, same) + " -> " + excerpt(after, same);
    }

    private static String excerpt(String line, int differsAt) {
        if (line.length() <= LONGEST_VALUE) {
            return line;
        }
        int from = differsAt <= LONGEST_VALUE - CONTEXT
                ? 0
                : Math.max(0, Math.min(differsAt - CONTEXT, line.length() - LONGEST_VALUE));
        int to = Math.min(line.length(), from + LONGEST_VALUE);
        return (from == 0 ? "" : "...")
                + line.substring(from, to)
                + (to == line.length() ? "" : "...")
                + " (" + line.length() + " characters)";
    }

    private record Line(
            String symbol,
            Colour colour,
            String workload,
            String action,
            String message,
            ImmutableList<String> changes) {
        static Line of(WorkloadPlan plan) {
            String message = Text.oneLine(plan.message());
            return new Line(
                    symbol(plan.bucket()),
                    colour(plan.bucket()),
                    plan.workload().toString(),
                    toDo(plan),
                    plan.isDrift() ? "drift: " + message : message,
                    PlanText.changes(plan));
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
