package io.homeostat.reconcile.sim;

import com.google.common.collect.ImmutableList;
import com.google.common.hash.Hashing;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.DesiredState;
import io.homeostat.desired.model.Lifecycle.Execution;
import io.homeostat.desired.model.Lifecycle.Limits;
import io.homeostat.desired.model.Probe;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.source.StoredState;
import io.homeostat.desired.state.StateReader.StoredDeclaration;
import io.homeostat.reconcile.loop.DesiredSource;
import java.nio.charset.StandardCharsets;
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
        Workload workload = wish.workload(place.id());
        // A config never shows in its own text, and of a driver or a task hardly anything does.
        String all = workload + "/" + workload.lifecycle() + "/" + wish.content() + wish.arguments() + wish.config();
        String hash = Hashing.sha256()
                .hashString(all, StandardCharsets.UTF_8)
                .toString()
                .substring(0, 8);
        // Goes on growing when it is withdrawn and declared again.
        long generation = generations.getOrDefault(place, 0L) + 1;
        return new StoredDeclaration(place.source(), workload, "/" + place, generation, hash, 0);
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
            return new StoredDeclaration(source, old.workload(), old.origin(), 1, old.hash(), 0);
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
        return Wish.of(revision, arguments, config).workload(id);
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
