package io.homeostat.desired.model;

import com.google.common.collect.ImmutableSortedSet;
import java.util.Locale;
import java.util.Optional;
import java.util.ServiceLoader;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * A kind of workload. Kinds are found once, by {@link KindProvider}; whatever goes through all of them (reader, schema, directories,
 * completion) needs no change for a new one. There is one object per kind, as with an enum.
 */
public final class Kind implements Comparable<Kind> {
    public static final Kind PLUGIN = new Kind("Plugin", "plugins", PluginSpec.class, "errors.log", true);
    public static final Kind PROCESS = new Kind("Process", "processes", ProcessSpec.class, "errors.log", false);
    public static final Kind TASK = new Kind("Task", "tasks", TaskSpec.class);
    public static final Kind DRIVER = new Kind("Driver", "drivers", DriverSpec.class);
    public static final Kind SANDBOX = new Kind("Sandbox", "sandboxes", SandboxSpec.class);
    public static final Kind CONTAINER = new Kind("Container", "containers", ContainerSpec.class);

    private final String title;
    private final String word;
    private final String plural;
    private final Class<? extends WorkloadSpec> spec;
    private final @Nullable String errorLog;
    private final boolean reported;

    /**
     * An ordinary kind.
     *
     * @param title as written in {@code kind:} of a document
     * @param plural name of the kind's directory below the instance directory
     * @param spec the record that its documents declare
     */
    public Kind(String title, String plural, Class<? extends WorkloadSpec> spec) {
        this(title, plural, spec, null, false);
    }

    private Kind(
            String title,
            String plural,
            Class<? extends WorkloadSpec> spec,
            @Nullable String errorLog,
            boolean reported) {
        this.title = title;
        this.word = title.toLowerCase(Locale.ROOT);
        this.plural = plural;
        this.spec = spec;
        this.errorLog = errorLog;
        this.reported = reported;
    }

    /** All kinds there are, in their order. */
    public static ImmutableSortedSet<Kind> all() {
        return Registered.ALL;
    }

    /** The kind of a title; exactly as it is written in documents. */
    public static Optional<Kind> ofTitle(String title) {
        return first(kind -> kind.title.equals(title));
    }

    /** The kind of a word, in any case. */
    public static Optional<Kind> ofWord(String word) {
        return first(kind -> kind.title.equalsIgnoreCase(word));
    }

    private static Optional<Kind> first(Predicate<Kind> condition) {
        return all().stream().filter(condition).findFirst();
    }

    /** As written in {@code kind:} of a document. */
    public String title() {
        return title;
    }

    /** As written in {@code plugin/ops-agent}. */
    public String word() {
        return word;
    }

    /** Name of the kind's directory below the instance directory. */
    public String plural() {
        return plural;
    }

    /** The record that its documents declare. */
    public Class<? extends WorkloadSpec> spec() {
        return spec;
    }

    /** Name of a second log that its processes are told to write beside their standard output; null when there is none. */
    public @Nullable String errorLog() {
        return errorLog;
    }

    /** Whether the control plane hears of its events. */
    public boolean isReported() {
        return reported;
    }

    @Override
    public int compareTo(Kind other) {
        return title.compareTo(other.title);
    }

    @Override
    public String toString() {
        return word;
    }

    /** Apart from {@link Kind}, so that a provider can make kinds while they are being collected. */
    private static final class Registered {
        static final ImmutableSortedSet<Kind> ALL =
                ServiceLoader.load(KindProvider.class, KindProvider.class.getClassLoader()).stream()
                        .map(ServiceLoader.Provider::get)
                        .flatMap(provider -> provider.kinds().stream())
                        .collect(ImmutableSortedSet.toImmutableSortedSet(Kind::compareTo));
    }
}
