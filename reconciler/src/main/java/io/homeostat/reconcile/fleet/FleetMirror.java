package io.homeostat.reconcile.fleet;

import com.fasterxml.jackson.databind.json.JsonMapper;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSortedMap;
import com.google.common.collect.ImmutableSortedSet;
import com.google.protobuf.ByteString;
import io.homeostat.desired.etcd.KeyValues;
import io.homeostat.desired.etcd.KeyValues.Entry;
import io.homeostat.desired.etcd.KeyValues.Listing;
import io.homeostat.desired.etcd.KeyValuesException;
import io.homeostat.desired.fleet.FleetKeys;
import io.homeostat.desired.fleet.MachineRegistration;
import io.homeostat.desired.fleet.MachineReport;
import io.homeostat.desired.fleet.MachineReport.ReportedWorkload;
import io.homeostat.desired.fleet.NewestSets;
import io.homeostat.desired.fleet.Rollout;
import io.homeostat.desired.fleet.RolloutOrder;
import io.homeostat.desired.fleet.RolloutState;
import io.homeostat.desired.fleet.SetSelection;
import io.homeostat.desired.state.RecordCodec;
import io.homeostat.desired.state.StoredSet.Highest;
import io.homeostat.reconcile.fleet.RolloutSituation.GivenOrder;
import io.homeostat.reconcile.fleet.RolloutSituation.Member;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * What is known of a fleet: the keys of its store as records, without what nobody asks for, since there may be ten thousand reports. What
 * can't be read of a machine counts as not said; what can't be read of the set or of a rollout leaves things as they are.
 */
public final class FleetMirror {
    /** The bytes of text that are read before any of it is taken or left out. */
    private static final long AT_ONCE = 1 << 20;

    private final FleetKeys keys;
    private final SetContents contents;
    private final RecordCodec codec = new RecordCodec(new JsonMapper());
    private final MachineReader reader = new MachineReader();
    private final Map<String, Machine> machines = new TreeMap<>();
    private final Map<String, MachineReport> reports = new HashMap<>();
    private final Map<String, GivenOrder> orders = new HashMap<>();
    private final Map<String, Written> states = new HashMap<>();
    /** By their keys. */
    private final Map<String, Entry> candidates = new HashMap<>();

    private final Map<String, String> problems = new TreeMap<>();

    /** The bytes that what machines say takes, by key. */
    private final Map<String, Long> sizes = new HashMap<>();

    /** The sum of the sizes. */
    private long taken;

    private final long most;

    /** By the rollout's name, until machines or the set change. */
    private final Map<String, ImmutableList<Member>> inOrder = new HashMap<>();

    private ImmutableList<Scope> scopes = ImmutableList.of();
    private Newest newest = new Newest(ImmutableList.of(), 0, true);
    private long setRevision;
    private long revision;

    /**
     * A rollout that is published.
     *
     * @param isFor tells by its labels whether a machine is one that its workloads are for
     */
    public record Scope(Rollout rollout, Predicate<ImmutableSortedMap<String, String>> isFor) {}

    /** Finds the rollouts of a published set. */
    @FunctionalInterface
    public interface SetContents {
        /** Throws an IllegalArgumentException that says why, when a set can't be read or may not be taken. */
        ImmutableList<Scope> rollouts(ByteString set);

        /**
         * The newest sets once this one was taken. Throws an IllegalArgumentException when it is older than those before.
         *
         * @param before the newest sets until then
         */
        default ImmutableList<Highest> newest(ByteString set, ImmutableList<Highest> before) {
            return before;
        }
    }

    /**
     * The newest sets that were taken.
     *
     * @param modified when they were written down, in the store; 0: they never were
     * @param isWritten whether the store has just these
     */
    record Newest(ImmutableList<Highest> sets, long modified, boolean isWritten) {}

    /**
     * A machine that was registered.
     *
     * @param registeredAt the store's revision in which it was, with these labels
     */
    public record Machine(ImmutableSortedMap<String, String> labels, long registeredAt, Instant at) {}

    private record Written(RolloutState state, long modified) {}

    public FleetMirror(FleetKeys keys, SetContents contents) {
        this(keys, contents, MachineReader.mostBytes());
    }

    /** @param most bytes that all that machines say may take, about; beyond it the machines that say most are not heard */
    FleetMirror(FleetKeys keys, SetContents contents, long most) {
        this.most = most;
        this.keys = keys;
        this.contents = contents;
    }

    /**
     * Takes all that there is, in the place of what was known. It takes seconds to list thousands of machines: what was told of changes
     * meanwhile is newer, and is not told again.
     */
    public synchronized void replace(Listing listing) {
        if (listing.revision() < revision) {
            return;
        }
        machines.clear();
        reports.clear();
        orders.clear();
        states.clear();
        candidates.clear();
        problems.keySet().removeIf(key -> !key.equals(keys.set()));
        inOrder.clear();
        sizes.clear();
        taken = 0;
        for (String key : ImmutableList.of(keys.set(), keys.newest())) {
            if (!listing.entries().containsKey(key)) {
                removed(key);
            }
        }
        List<Entry> some = new ArrayList<>();
        long bytes = 0;
        for (Entry entry : listing.entries().values()) {
            some.add(entry);
            bytes += entry.bytes();
            if (bytes > AT_ONCE) {
                readAll(some);
                some.clear();
                bytes = 0;
            }
        }
        readAll(some);
        listing.leftOut().forEach(this::leaveOut);
        revision = listing.revision();
    }

    /** Takes some entries. Reading takes most of the time, and is done by all processors. */
    private void readAll(List<Entry> entries) {
        entries.parallelStream().map(this::read).toList().forEach(Runnable::run);
    }

    /** Takes what has changed. What an earlier look has shown already, or a later one, is left out. */
    public synchronized void change(ImmutableList<Entry> put, ImmutableList<String> deleted, long upTo) {
        if (upTo <= revision) {
            return;
        }
        put.forEach(entry -> read(entry).run());
        deleted.forEach(this::removed);
        revision = upTo;
    }

    /** Takes what was written just now, before the store tells of it. */
    synchronized void wrote(String rollout, RolloutState state, long modified) {
        states.put(rollout, new Written(state, modified));
    }

    /** The newest sets, of which no older ones are taken. */
    synchronized Newest newest() {
        return newest;
    }

    synchronized void wroteNewest(ImmutableList<Highest> sets, long modified) {
        newest = new Newest(sets, modified, true);
    }

    public synchronized long revision() {
        return revision;
    }

    /** All that the next decisions depend on. Left out are rollouts whose state can't be read: nobody knows what may be open. */
    public synchronized ImmutableList<RolloutSituation> situations(Instant now) {
        return scopes.stream()
                .filter(scope ->
                        !problems.containsKey(keys.rollout(scope.rollout().name())))
                .map(scope -> situation(scope, now))
                .collect(ImmutableList.toImmutableList());
    }

    private RolloutSituation situation(Scope scope, Instant now) {
        String name = scope.rollout().name();
        Written written = states.get(name);
        return new RolloutSituation(
                scope.rollout(),
                written == null ? null : written.state(),
                written == null ? 0 : written.modified(),
                orders.get(name),
                inOrder.computeIfAbsent(name, unknown -> members(scope)).stream()
                        .map(member ->
                                new Member(member.id(), member.place(), member.registeredAt(), workloads(member.id())))
                        .collect(ImmutableList.toImmutableList()),
                revision,
                now);
    }

    private ImmutableList<Member> members(Scope scope) {
        return machines.entrySet().stream()
                .filter(machine -> scope.isFor().test(machine.getValue().labels()))
                .map(machine -> new Member(
                        machine.getKey(),
                        scope.rollout().place(machine.getKey()),
                        machine.getValue().registeredAt(),
                        null))
                .sorted(Comparator.comparing(Member::place).thenComparing(Member::id))
                .collect(ImmutableList.toImmutableList());
    }

    private @Nullable ImmutableList<ReportedWorkload> workloads(String machine) {
        MachineReport report = reports.get(machine);
        return report == null ? null : report.workloads();
    }

    private long modified(String rollout) {
        Written written = states.get(rollout);
        return written == null ? 0 : written.modified();
    }

    /** What can't be read, by key, in words. */
    public synchronized ImmutableMap<String, String> problems() {
        return ImmutableMap.copyOf(problems);
    }

    /** All machines that were ever there, by id. */
    public synchronized ImmutableSortedMap<String, Machine> machines() {
        return ImmutableSortedMap.copyOf(machines);
    }

    /** What a machine reports; empty while it is silent. Long texts are shortened. */
    public synchronized Optional<MachineReport> report(String machine) {
        return Optional.ofNullable(reports.get(machine));
    }

    /** What was decided of rollouts last, by their names; also of those that are not published any more. */
    public synchronized ImmutableMap<String, RolloutState> states() {
        return states.entrySet().stream()
                .collect(ImmutableMap.toImmutableMap(
                        Map.Entry::getKey, written -> written.getValue().state()));
    }

    /** The name of the controller that leads: of those that campaign the one that began first. */
    public synchronized Optional<String> leader() {
        return candidates.values().stream()
                .min(Comparator.comparingLong(Entry::created))
                .map(FleetMirror::text);
    }

    /** Lists what there is for {@link #replace}. What machines say is left out where there is no memory for all of it. */
    public Listing list(KeyValues store) throws KeyValuesException, InterruptedException {
        return store.list(
                keys.prefix() + "/", key -> key.startsWith(keys.machines()) || key.startsWith(keys.reports()));
    }

    /** What all keys begin with. */
    public String prefix() {
        return keys.prefix();
    }

    /** Whether nobody has published anything here or is registered. */
    public synchronized boolean isEmpty() {
        return !hasSet() && machines.isEmpty() && problems.isEmpty();
    }

    /** Whether a set was published. */
    public synchronized boolean hasSet() {
        return setRevision > 0;
    }

    /** The rollouts that are published. */
    public synchronized ImmutableSortedSet<String> rollouts() {
        return scopes.stream()
                .map(scope -> scope.rollout().name())
                .collect(ImmutableSortedSet.toImmutableSortedSet(Comparator.naturalOrder()));
    }

    /**
     * Reads what machines say, of which there is much, and returns what is left to do. Until then nothing is changed. However one text can't
     * be read, also by a defect of ours, the others are.
     */
    private Runnable read(Entry entry) {
        String key = entry.key();
        try {
            if (key.startsWith(keys.machines())) {
                MachineRegistration read = reader.registration(entry.value());
                Machine machine = new Machine(read.labels(), entry.modified(), read.at());
                return () -> {
                    if (!machine.equals(machines.put(name(key, keys.machines()), machine))) {
                        inOrder.clear();
                    }
                    problems.remove(key);
                    keep(key, MachineReader.bytes(read.labels()));
                };
            } else if (key.startsWith(keys.reports())) {
                MachineReport report = reader.report(entry.value());
                return () -> {
                    reports.put(name(key, keys.reports()), report);
                    problems.remove(key);
                    keep(key, MachineReader.bytes(report));
                };
            }
            return () -> put(entry);
        } catch (RuntimeException | StackOverflowError e) {
            return () -> {
                removed(key);
                unreadable(key, e);
            };
        }
    }

    /** Counts what a machine says. Whoever says most is left out first, so that it hides nobody but itself. */
    private void keep(String key, long bytes) {
        forget(key);
        sizes.put(key, bytes);
        taken += bytes;
        while (taken > most) {
            Map.Entry<String, Long> largest = Collections.max(
                    sizes.entrySet(),
                    Map.Entry.<String, Long>comparingByValue().thenComparing(Map.Entry.comparingByKey()));
            leaveOut(largest.getKey(), largest.getValue());
        }
    }

    private void forget(String key) {
        Long bytes = sizes.remove(key);
        taken -= bytes == null ? 0 : bytes;
    }

    private void leaveOut(String key, long bytes) {
        removed(key);
        problems.put(
                key,
                "is left out: it takes " + (bytes >> 10)
                        + " KiB, and all that machines say more memory than there is for it; delete it if that is no machine's");
    }

    private void put(Entry entry) {
        String key = entry.key();
        try {
            if (key.equals(keys.set())) {
                ImmutableList<Highest> sets = contents.newest(entry.value(), newest.sets());
                inOrder.clear();
                scopes = contents.rollouts(entry.value());
                newest = new Newest(sets, newest.modified(), newest.isWritten() && sets.equals(newest.sets()));
                setRevision = entry.modified();
            } else if (key.equals(keys.newest())) {
                ImmutableList<Highest> sets =
                        codec.read(NewestSets.class, text(entry)).sets();
                // What was taken since is still to be written.
                newest = new Newest(newest.isWritten() ? sets : newest.sets(), entry.modified(), newest.isWritten());
            } else if (key.startsWith(keys.orders())) {
                orders.put(
                        name(key, keys.orders()),
                        new GivenOrder(codec.read(RolloutOrder.class, text(entry)), entry.modified()));
            } else if (key.startsWith(keys.candidates())) {
                candidates.put(key, entry);
            } else if (key.startsWith(keys.rollouts()) && entry.modified() > modified(name(key, keys.rollouts()))) {
                wrote(name(key, keys.rollouts()), SetSelection.parsed(text(entry)), entry.modified());
            }
            problems.remove(key);
        } catch (RuntimeException | StackOverflowError e) {
            if (key.startsWith(keys.orders())) {
                removed(key);
            }
            unreadable(key, e);
        }
    }

    private void unreadable(String key, Throwable e) {
        problems.put(key, "can't be read: " + RecordCodec.message(e));
    }

    private void removed(String key) {
        problems.remove(key);
        forget(key);
        if (key.equals(keys.set())) {
            inOrder.clear();
            scopes = ImmutableList.of();
            setRevision = 0;
        } else if (key.equals(keys.newest())) {
            // It is written again: what was taken was taken.
            newest = new Newest(newest.sets(), 0, newest.sets().isEmpty());
        } else if (key.startsWith(keys.machines())) {
            machines.remove(name(key, keys.machines()));
            inOrder.clear();
        } else if (key.startsWith(keys.reports())) {
            reports.remove(name(key, keys.reports()));
        } else if (key.startsWith(keys.orders())) {
            orders.remove(name(key, keys.orders()));
        } else if (key.startsWith(keys.candidates())) {
            candidates.remove(key);
        } else if (key.startsWith(keys.rollouts())) {
            states.remove(name(key, keys.rollouts()));
        }
    }

    private static String text(Entry entry) {
        return entry.value().toStringUtf8();
    }

    private static String name(String key, String prefix) {
        return key.substring(prefix.length());
    }
}
