package io.homeostat.reconcile.command.output;

import io.homeostat.reconcile.plan.WorkloadPlan;
import io.homeostat.reconcile.plan.WorkloadPlan.Facts;
import org.jspecify.annotations.Nullable;

/** What is, or was, done to a workload, with the revisions it concerns. */
final class ActionWords {
    private ActionWords() {}

    /** To be done: "upgrade A1B2 -> C3D4". */
    static String of(WorkloadPlan plan) {
        String verb = plan.action().word();
        return switch (plan.action()) {
            case INSTALL, REINSTALL -> join(verb, revision(plan.after()));
            case UPGRADE, ROLLBACK -> join(verb, revision(plan.before()), "->", revision(plan.after()));
            case REMOVE -> join(verb, revision(plan.before()));
            case CONFIGURE, RESTART, ACTIVATE, STOP, RUN, CLEANUP, WAIT, NONE -> verb;
        };
    }

    /** Done: "upgraded A1B2 -> C3D4", "restarted (arguments changed)". */
    static String past(WorkloadPlan plan) {
        return switch (plan.action()) {
            case INSTALL -> join("installed", revision(plan.after()));
            case UPGRADE -> join("upgraded", revision(plan.before()), "->", revision(plan.after()));
            case ROLLBACK -> because(join("rolled back", revision(plan.before()), "->", revision(plan.after())), plan);
            case REINSTALL -> because(join("reinstalled", revision(plan.after())), plan);
            case REMOVE -> join("removed", revision(plan.before()));
            case CONFIGURE -> "configured";
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
        return words + " (" + OneLine.of(plan.message()) + ")";
    }

    private static String revision(@Nullable Facts facts) {
        return facts == null ? "" : facts.revision();
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
}
