package io.homeostat.reconcile.sim;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import com.google.common.hash.Hashing;
import io.homeostat.desired.model.Config;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.DesiredState;
import io.homeostat.desired.model.Execution;
import io.homeostat.desired.model.HealthCheck;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.Limits;
import io.homeostat.desired.model.Metrics;
import io.homeostat.desired.model.PluginSpec;
import io.homeostat.desired.model.Probe;
import io.homeostat.desired.model.ProcessSpec;
import io.homeostat.desired.model.Program;
import io.homeostat.desired.model.Restart;
import io.homeostat.desired.model.Source;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.Start;
import io.homeostat.desired.model.Stop;
import io.homeostat.desired.model.Triggers;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.model.WorkloadSpec;
import io.homeostat.desired.source.StoredState;
import io.homeostat.desired.store.StoredDeclaration;
import io.homeostat.reconcile.loop.DesiredSource;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Collection;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** What is wanted in a simulation or an example, by every source; builds declarations without YAML. */
public final class Declarations implements DesiredSource {
    /** What runs for ever, on every machine. */
    public static final Execution DAEMON = new Execution(
            Execution.Type.DAEMON,
            false,
            Execution.State.ENABLED,
            Execution.State.ENABLED,
            Execution.Match.ALL,
            ImmutableList.of(),
            null,
            null);

    private final Map<SourceName, Map<WorkloadId, StoredDeclaration>> bySource = new EnumMap<>(SourceName.class);
    private DesiredState merged = DesiredState.EMPTY;
    private final Map<Place, Long> generations = new HashMap<>();
    /** Files that can't be read, with what somebody has written there meanwhile. */
    private final Map<Place, Optional<Wish>> broken = new HashMap<>();

    private record Place(SourceName source, WorkloadId id) {}

    /**
     * What tells one declaration from another.
     *
     * @param content SHA-256 of the archive; begins with the revision, so that the fake machine knows what it is like
     * @param giveUpAfter restarts in a row; 0: never
     * @param probe how a process is asked how it is
     */
    public record Wish(
            String revision,
            String content,
            ImmutableList<String> arguments,
            @Nullable String config,
            int giveUpAfter,
            Probing probe,
            Limits limits,
            Execution execution) {
        public static Wish of(String revision, ImmutableList<String> arguments, @Nullable String config) {
            return new Wish(revision, revision, arguments, config, 0, Probing.NONE, Limits.NONE, DAEMON);
        }

        Wish limited(Limits other) {
            return new Wish(revision, content, arguments, config, giveUpAfter, probe, other, execution);
        }

        /** To be run to its end, within a minute, whenever one of these fires. */
        public Wish when(Triggers fire) {
            return executed(new Execution(
                    Execution.Type.ONE_SHOT,
                    false,
                    execution.defaultState(),
                    execution.onMatch(),
                    execution.match(),
                    execution.rules(),
                    fire,
                    Duration.ofMinutes(1)));
        }

        Wish executed(Execution other) {
            return new Wish(revision, content, arguments, config, giveUpAfter, probe, limits, other);
        }
    }

    /** Whether and where a process is asked how it is. */
    public enum Probing {
        NONE,
        WHERE_IT_LISTENS,
        /** A mistake in the declaration: nobody ever answers there. */
        ELSEWHERE
    }

    /** Declares a workload, unless it is declared just so already. */
    public Declaration declare(
            WorkloadId id, String revision, ImmutableList<String> arguments, @Nullable String config) {
        return declare(SourceName.APPLIED, id, Wish.of(revision, arguments, config));
    }

    /** The same with limits. */
    public Declaration declare(WorkloadId id, String revision, Limits limits) {
        return declare(
                SourceName.APPLIED,
                id,
                Wish.of(revision, ImmutableList.of(), "c").limited(limits));
    }

    /** The same to be executed otherwise. */
    public Declaration declare(WorkloadId id, String revision, Execution execution) {
        return declare(
                SourceName.APPLIED,
                id,
                Wish.of(revision, ImmutableList.of(), "c").executed(execution));
    }

    /** A source whose file can't be read goes on declaring what it did. */
    public Declaration declare(SourceName source, WorkloadId id, Wish wish) {
        Place place = new Place(source, id);
        Map<WorkloadId, StoredDeclaration> own = bySource.computeIfAbsent(source, any -> new TreeMap<>());
        if (broken.containsKey(place)) {
            broken.put(place, Optional.of(wish));
            return merged.get(id).orElseGet(() -> declaration(stored(place, wish)));
        }
        StoredDeclaration known = own.get(id);
        StoredDeclaration next = stored(place, wish);
        if (known == null || !known.hash().equals(next.hash())) {
            generations.put(place, next.generation());
            own.put(id, next);
            merge();
        }
        return declaration(own.getOrDefault(id, next));
    }

    private static Declaration declaration(StoredDeclaration stored) {
        return new Declaration(
                stored.workload(), stored.source(), stored.generation(), stored.hash(), ImmutableList.of());
    }

    private StoredDeclaration stored(Place place, Wish wish) {
        Workload workload = workload(place.id(), wish);
        // A config never shows in its own text.
        String hash = Hashing.sha256()
                .hashString(workload + "/" + wish.config(), StandardCharsets.UTF_8)
                .toString()
                .substring(0, 8);
        // Goes on growing when it is withdrawn and declared again.
        long generation = generations.getOrDefault(place, 0L) + 1;
        return new StoredDeclaration(place.source(), workload, "/" + place, generation, hash);
    }

    /** What stands there can't be read; what was declared there stays in force. */
    void breakFile(SourceName source, WorkloadId id) {
        broken.putIfAbsent(new Place(source, id), Optional.empty());
    }

    void mendFile(SourceName source, WorkloadId id) {
        Optional<Wish> written = broken.remove(new Place(source, id));
        if (written != null) {
            written.ifPresent(wish -> declare(source, id, wish));
        }
    }

    /** What can be read is read again, and counted anew. */
    void loseWhatOnlyTheDatabaseHad() {
        bySource.getOrDefault(SourceName.APPLIED, new TreeMap<>()).clear();
        broken.keySet()
                .forEach(place ->
                        bySource.getOrDefault(place.source(), new TreeMap<>()).remove(place.id()));
        generations.clear();
        bySource.forEach((source, own) -> own.replaceAll((id, old) -> {
            generations.put(new Place(source, id), 1L);
            return new StoredDeclaration(source, old.workload(), old.origin(), 1, old.hash());
        }));
        merge();
    }

    /** By every source. */
    public void withdraw(WorkloadId id) {
        bySource.keySet().forEach(source -> withdraw(source, id));
    }

    /** Removing a file withdraws what it declared, also when it could not be read. */
    void withdraw(SourceName source, WorkloadId id) {
        broken.remove(new Place(source, id));
        bySource.getOrDefault(source, new TreeMap<>()).remove(id);
        merge();
    }

    private void merge() {
        merged = StoredState.desired(bySource.values().stream()
                .map(Map::values)
                .flatMap(Collection::stream)
                .collect(ImmutableList.toImmutableList()));
    }

    /** The declaration that should win, found in another way than the agent does. */
    Optional<Declaration> strongest(WorkloadId id) {
        for (SourceName source :
                new SourceName[] {SourceName.CONTROL_PLANE, SourceName.APPLIED, SourceName.FILES, SourceName.LOCAL}) {
            Map<WorkloadId, StoredDeclaration> own = bySource.get(source);
            if (own != null && own.containsKey(id)) {
                return Optional.of(own.get(id)).map(Declarations::declaration);
            }
        }
        return Optional.empty();
    }

    @Override
    public DesiredState now() {
        return merged;
    }

    /** A workload with every default; its archive's key begins with its revision, so that the fake machine knows it. */
    public static Workload workload(
            WorkloadId id, String revision, ImmutableList<String> arguments, @Nullable String config) {
        return workload(id, Wish.of(revision, arguments, config));
    }

    private static Workload workload(WorkloadId id, Wish wish) {
        Program program = new Program(
                wish.revision(),
                new Source("https://bucket/" + id.name() + "?signature=x", wish.content(), Duration.ofSeconds(60), 3),
                "bin/run",
                wish.arguments(),
                ImmutableSortedMap.of(),
                null,
                Program.Install.DYNAMIC,
                wish.limits(),
                new Start(Duration.ofSeconds(30), 3, 2),
                new Stop(Duration.ofSeconds(30)),
                new HealthCheck(Duration.ofSeconds(10), Duration.ofSeconds(2), 3),
                new Restart(Duration.ZERO, Duration.ofMinutes(5), Duration.ofMinutes(10), wish.giveUpAfter()),
                new Metrics(Duration.ofSeconds(10), 60),
                wish.execution(),
                ImmutableList.of(),
                null,
                null);
        WorkloadSpec spec = id.kind() == Kind.PLUGIN
                ? new PluginSpec(program, wish.config() == null ? null : new Config(wish.config(), null))
                : new ProcessSpec(program, probe(wish));
        return new Workload(id, ImmutableSortedMap.of(), spec);
    }

    private static @Nullable Probe probe(Wish wish) {
        return switch (wish.probe()) {
            case NONE -> null;
            case WHERE_IT_LISTENS -> tcp(address(wish.revision()));
            case ELSEWHERE -> tcp("nowhere:80");
        };
    }

    private static Probe tcp(String address) {
        return new Probe(null, new Probe.Tcp(address), null, null);
    }

    /** Where a probe asks; empty when there is none. */
    static Optional<String> address(@Nullable Probe probe) {
        return Optional.ofNullable(probe).map(Probe::tcp).map(Probe.Tcp::address);
    }

    /** Where a revision listens: each somewhere else. */
    static String address(String revision) {
        return revision.toLowerCase(Locale.ROOT) + ":80";
    }
}
