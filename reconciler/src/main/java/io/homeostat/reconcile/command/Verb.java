package io.homeostat.reconcile.command;

import com.google.common.collect.ImmutableList;
import java.util.Locale;

/** The subcommands, in the order in which help lists them. */
public enum Verb {
    VALIDATE("Check files; touch nothing.", "Exit status: 0 valid, 1 not."),
    PLAN(
            "Show what apply would change, and why; touch nothing.",
            "Without -f: against the stored desired state.",
            "Exit status: 0; with --detailed-exitcode 0 no changes, 1 error, 2 changes."),
    APPLY(
            "Store files as desired state and bring the machine to it.",
            "Exit status: 0 everything that is declared is at its desired state, 1 not."),
    DELETE("Take workloads out of the desired state and remove them from the machine.", "Exit status: 0 done, 1 not."),
    RUN(
            "Enforce what is declared, continuously; workloads outlive it.",
            "SIGTERM ends it, SIGHUP has it read its configuration again.",
            "Exit status: 0 told to end, 1 could not run."),
    PAUSE("Leave workloads alone, whatever becomes of them, until they are resumed.", "Exit status: 0 done, 1 not."),
    RESUME("Bring paused workloads to their desired state again.", "Exit status: 0 done, 1 not."),
    STOP(
            "Stop workloads, and leave them stopped until they are started or resumed.",
            "Nobody starts them meanwhile, not after a reboot either.",
            "Exit status: 0 none of them runs, 1 not."),
    START(
            "Start workloads that were stopped or paused, and try at once what had failed.",
            "Exit status: 0 done, 1 not."),
    RESET(
            "Remove all plugins that were installed dynamically, with their state.",
            "What packages and files declare stays, and so do protected plugins.",
            "Exit status: 0 done, 1 not, or --yes is missing."),
    STATUS(
            "Show what is wanted and what is there, observed now.",
            "Exit status: 0 all converged and healthy, 1 not, 3 nothing was ever declared here."),
    EVENTS("Show what happened, newest last."),
    LOGS("Show a workload's own output."),
    VM_EVENT(
            "Tell every plugin that runs of something that happens to the machine.",
            "Each has 5 s to be done with what is being done to it, and 5 s to answer; what is declared stays as it is.",
            "Exit status: 0 all that run have taken it (501, it does not run, is no failure), 1 not."),
    WATCH(
            "Ask a plugin for its status until it answers with the code that is waited for.",
            "One that does not run is waited for.",
            "Exit status: 0 it did, 1 not in time."),
    VERIFY("Say whether a workload runs at a revision, and is well.", "Exit status: 0 it does, 1 not, and why."),
    STATES(
            "Show how plugins are in the words of the control plane; JSON is its CurrentPluginStates.",
            "Exit status: 0."),
    DOCTOR(
            "Say what this host can and can't do, and what to do about it; touch nothing.",
            "Exit status: 0 nothing that is needed is missing, 1 something is."),
    DIAGNOSTICS(
            "Collect what is needed to look for a fault from afar: state, events, ends of logs; secrets are masked.",
            "Exit status: 0 written, 1 not."),
    EXPLAIN("Explain a field of a document, such as Plugin.spec.limits."),
    SCHEMA("Print the JSON Schema (draft 2020-12) of documents."),
    COMPLETION(
            "Print a completion script for bash.",
            "To load it now:        source <(homeostat completion bash)",
            "To load it every time: homeostat completion bash > ~/.local/share/bash-completion/completions/homeostat"),
    VERSION("Print the version."),
    SELF_TRAIN("Exercise the program so that the JVM can prepare a fast start.");

    private final ImmutableList<String> description;

    Verb(String... description) {
        this.description = ImmutableList.copyOf(description);
    }

    /** As typed. */
    public String word() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    /** The first line stands in the list of commands. */
    public String[] description() {
        return description.toArray(String[]::new);
    }

    /** Not meant for people. */
    public boolean hidden() {
        return this == SELF_TRAIN;
    }
}
