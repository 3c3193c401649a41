package io.homeostat.desired.model;

import java.util.Locale;

/** The kinds of workload; the row a kind has everywhere is chosen by this enum, so the compiler finds what a new one lacks. */
public enum Kind {
    PLUGIN("Plugin", "plugins"),
    PROCESS("Process", "processes");

    private final String title;
    private final String plural;

    Kind(String title, String plural) {
        this.title = title;
        this.plural = plural;
    }

    /** As written in {@code kind:} of a document. */
    public String title() {
        return title;
    }

    /** Name of the kind's directory below the instance directory. */
    public String plural() {
        return plural;
    }

    /** As written in {@code plugin/ops-agent}. */
    public String word() {
        return title.toLowerCase(Locale.ROOT);
    }
}
