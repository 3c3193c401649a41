package io.homeostat.desired.state.sqlite;

import com.google.common.collect.ImmutableCollection;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedMap;
import com.google.common.collect.Iterables;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Outbox;
import io.homeostat.desired.state.Pause;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.StoredSet;
import io.homeostat.desired.state.history.WorkloadHistory;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Instant;
import java.time.InstantSource;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Keeps the state in one SQLite database; opened by {@link StateStores}. Each method changes all that it says, or nothing. */
public final class SqliteStateStore extends SqliteStateReader implements StateStore {
    /** Where the id of the newest event is that hooks were told. */
    private static final String HOOKS = "hooks";

    private final SqliteOutbox outbox;
    private final InstantSource clock;

    /**
     * What is stored of workloads that were asked for, so that a pass that finds all as it was asks the database nothing. Changed while
     * the database is held; nobody else writes to it.
     */
    private final Map<WorkloadId, Remembered> remembered = new ConcurrentHashMap<>();

    private record Remembered(WorkloadHistory history, ImmutableList<Instance> instances, Optional<Pause> pause) {
        boolean isAny() {
            return !history.equals(WorkloadHistory.NONE) || !instances.isEmpty() || pause.isPresent();
        }

        @Nullable
        Remembered after(Change change) {
            WorkloadHistory next =
                    change.dropHistory() ? WorkloadHistory.NONE : change.history() == null ? history : change.history();
            Map<String, Instance> left = new HashMap<>();
            Iterables.concat(instances, change.instances()).forEach(one -> left.put(one.launchId(), one));
            left.keySet().removeAll(change.ended());
            Remembered after = new Remembered(next, ImmutableList.sortedCopyOf(OLDEST_FIRST, left.values()), pause);
            return after.isAny() ? after : null;
        }
    }

    SqliteStateStore(Database database, InstantSource clock) {
        super(database);
        this.clock = clock;
        this.outbox = new SqliteOutbox(database);
    }

    @Override
    public WorkloadHistory history(WorkloadId id) {
        return remembered(id).history();
    }

    @Override
    public ImmutableList<Instance> instances(WorkloadId id) {
        return remembered(id).instances();
    }

    @Override
    public Optional<Pause> pause(WorkloadId id) {
        return remembered(id).pause();
    }

    @Override
    public ImmutableMap<WorkloadId, WorkloadHistory> histories() {
        return database.read(
                "read the histories from",
                connection ->
                        withHistory(connection).stream().collect(ImmutableMap.toImmutableMap(id -> id, this::history)));
    }

    @Override
    public ImmutableList<Instance> instances() {
        return database.read(
                "read the instances from",
                connection -> withInstances(connection).stream()
                        .flatMap(id -> instances(id).stream())
                        .sorted(OLDEST_FIRST)
                        .collect(ImmutableList.toImmutableList()));
    }

    private Remembered remembered(WorkloadId id) {
        Remembered known = remembered.get(id);
        return known != null
                ? known
                : database.read("read the state of " + id + " from", connection -> {
                    Remembered read = new Remembered(super.history(id), super.instances(id), super.pause(id));
                    if (read.isAny()) {
                        remembered.put(id, read);
                    }
                    return read;
                });
    }

    @Override
    public void commit(Change change) {
        store(change, () -> change);
    }

    @Override
    public void commit(Change change, InstantSource now) {
        store(change, () -> change.at(now.instant()));
    }

    /** @param dated asked when it is its turn to be stored */
    private void store(Change undated, Supplier<Change> dated) {
        if (undated.isEmpty()) {
            return;
        }
        String workload = undated.workload().toString();
        String tried = "store the state of " + workload + " in";
        Change stored = database.write(
                tried,
                connection -> {
                    Change change = dated.get();
                    if (change.dropHistory()) {
                        Database.update(connection, "DELETE FROM history WHERE workload = ?", workload);
                        revisions(connection, workload).forget();
                    } else if (change.history() != null) {
                        storeHistory(connection, workload, change.history());
                    }
                    for (Instance instance : change.instances()) {
                        storeInstance(connection, instance);
                    }
                    for (String launchId : change.ended()) {
                        Database.update(
                                connection,
                                "DELETE FROM instance WHERE workload = ? AND launch_id = ?",
                                workload,
                                launchId);
                    }
                    for (Event event : change.events()) {
                        EventTable.add(connection, event);
                    }
                    return change;
                },
                change -> remembered.computeIfPresent(change.workload(), (id, known) -> known.after(change)));
        outbox.stored(stored.events());
    }

    @Override
    public void record(Event event) {
        write("store an event in", connection -> EventTable.add(connection, event));
        outbox.stored(ImmutableList.of(event));
    }

    @Override
    public ImmutableSet<WorkloadId> apply(
            ImmutableCollection<ToApply> documents, ImmutableSet<String> origins, boolean prune) {
        return database.write("store the applied documents in", connection -> {
            DeclarationTable table = new DeclarationTable(connection, SourceName.APPLIED);
            declare(table, documents);
            if (!documents.isEmpty()) {
                rememberThatSomethingWasDeclared(connection);
            }
            Set<String> declared = words(documents);
            return table.withdraw(
                    (workload, origin) -> prune && !declared.contains(workload) && origins.contains(origin));
        });
    }

    @Override
    public void delete(ImmutableCollection<WorkloadId> ids) {
        Set<String> words = ids.stream().map(WorkloadId::toString).collect(ImmutableSet.toImmutableSet());
        write(
                "delete applied documents from",
                connection -> new DeclarationTable(connection, SourceName.APPLIED)
                        .withdraw((workload, origin) -> words.contains(workload)));
    }

    @Override
    public ImmutableSet<WorkloadId> replace(SourceContent content, Instant now) {
        return database.write(
                "store what the source " + content.source().word() + " declares in",
                connection -> replace(connection, content, now));
    }

    private ImmutableSet<WorkloadId> replace(Connection connection, SourceContent content, Instant now)
            throws SQLException {
        DeclarationTable table = new DeclarationTable(connection, content.source());
        ImmutableSet<WorkloadId> changed = declare(table, content.documents());
        if (!content.documents().isEmpty()) {
            rememberThatSomethingWasDeclared(connection);
        }
        Set<String> declared = words(content.documents());
        ImmutableSet<WorkloadId> gone = table.withdraw((workload, origin) ->
                !declared.contains(workload) && !content.retainedOrigins().contains(origin));
        for (Event event : SourceProblemTable.replace(connection, content.source(), content.problems(), now)) {
            EventTable.add(connection, event);
        }
        return ImmutableSet.<WorkloadId>builder().addAll(changed).addAll(gone).build();
    }

    @Override
    public ImmutableSet<WorkloadId> take(StoredSet.Content set, SourceContent content, Instant now) {
        return database.write("store the set of " + content.source().word() + " in", connection -> {
            PublishedSetTable table = new PublishedSetTable(connection);
            Optional<StoredSet> before = table.set(set.set().source());
            if (before.isEmpty() || !before.get().isSameSet(set.set())) {
                EventTable.add(connection, new Event(now, null, "", EventType.AGENT_SET_TAKEN, taken(set.set())));
            }
            table.put(set);
            table.answered(set.set().source(), set.set().name(), now);
            return replace(connection, content, now);
        });
    }

    private static String taken(StoredSet set) {
        return set.source().word() + ": the set of " + set.name() + " is in force"
                + (set.version().isEmpty() ? "" : ", version " + set.version())
                + (set.sequence() == 0 ? "" : ", sequence " + set.sequence());
    }

    @Override
    public void answered(SourceName source, String name, @Nullable Instant at) {
        write(
                "note when " + source.word() + " answered in",
                connection -> new PublishedSetTable(connection).answered(source, name, at));
    }

    @Override
    public ImmutableSet<WorkloadId> withdrawSet(SourceName source, Instant now) {
        return database.write("withdraw the set of " + source.word() + " from", connection -> {
            new PublishedSetTable(connection).forget(source);
            return replace(
                    connection,
                    new SourceContent(source, ImmutableList.of(), ImmutableSet.of(), ImmutableList.of()),
                    now);
        });
    }

    @Override
    public void storeRolloutStates(ImmutableSortedMap<String, String> states) {
        write("store how rollouts stand in", connection -> new PublishedSetTable(connection).rolloutStates(states));
    }

    @Override
    public void storeRegistration(long revision, ImmutableSortedMap<String, String> labels) {
        write(
                "note when this machine was registered in",
                connection -> new PublishedSetTable(connection).registered(revision, labels));
    }

    @Override
    public void receive(ControlPlaneChange change) {
        database.<Boolean>write(
                "store what the control plane sent in",
                connection -> {
                    DeclarationTable table = new DeclarationTable(connection, SourceName.CONTROL_PLANE);
                    declare(table, change.declared());
                    if (!change.declared().isEmpty()) {
                        rememberThatSomethingWasDeclared(connection);
                    }
                    table.withdraw((workload, origin) -> WorkloadId.parse(workload)
                            .filter(change.withdrawn()::contains)
                            .isPresent());
                    for (Map.Entry<WorkloadId, WorkloadHistory> history :
                            change.histories().entrySet()) {
                        storeHistory(connection, history.getKey().toString(), history.getValue());
                    }
                    for (Event event : change.events()) {
                        EventTable.add(connection, event);
                    }
                    SqliteOutbox.withhold(connection, change.withheld());
                    return true;
                },
                done -> change.histories()
                        .forEach((id, history) -> remembered.computeIfPresent(
                                id, (same, known) -> known.after(Change.ofHistory(id, history)))));
        outbox.stored(change.events());
    }

    @Override
    public boolean pause(WorkloadId id, String reason, Instant now) {
        return changePause(id, "pause " + id + " in", connection -> PauseTable.put(connection, id, reason, false, now));
    }

    @Override
    public boolean stop(WorkloadId id, String reason, Instant now) {
        return changePause(id, "stop " + id + " in", connection -> PauseTable.put(connection, id, reason, true, now));
    }

    @Override
    public boolean resume(WorkloadId id, String reason, Instant now) {
        return changePause(id, "resume " + id + " in", connection -> PauseTable.remove(connection, id, reason, now));
    }

    private boolean changePause(WorkloadId id, String tried, Database.Reading<Optional<Event>> change) {
        return database.write(
                tried,
                connection -> {
                    Optional<Event> event = change.from(connection);
                    if (event.isPresent()) {
                        EventTable.add(connection, event.get());
                    }
                    return event.isPresent();
                },
                changed -> remembered.remove(id));
    }

    @Override
    public int trimEvents(int keep, Instant now) {
        int dropped = database.write(
                "trim the events in", connection -> EventTable.trim(connection, keep, MOST_EVENT_BYTES, now));
        if (dropped > 0) {
            outbox.dropped();
        }
        return dropped;
    }

    @Override
    public Outbox outbox() {
        return outbox;
    }

    @Override
    public void checkWritable(Instant now) {
        // Another value each time: SQLite writes no page that stays as it is.
        write(
                "write to",
                connection -> Database.update(
                        connection, "INSERT OR REPLACE INTO meta(key, value) VALUES ('written', ?)", now.toString()));
    }

    @Override
    public void checkInPlace() {
        database.checkInPlace("go on with");
    }

    @Override
    public long hooksTold() {
        return database.write("find out what hooks were told in", connection -> {
            Database.update(
                    connection,
                    "INSERT OR IGNORE INTO meta(key, value) SELECT '" + HOOKS + "', coalesce(max(id), 0) FROM event");
            return Long.parseLong(Sqlite.text(connection, "SELECT value FROM meta WHERE key = '" + HOOKS + "'"));
        });
    }

    @Override
    public ImmutableMap<String, Long> hooksAhead() {
        return database.read("find out what hooks were told in", connection -> {
            ImmutableMap.Builder<String, Long> ahead = ImmutableMap.builder();
            Database.query(
                    connection,
                    "SELECT substr(key, ?), value FROM meta WHERE key LIKE '" + HOOKS + ":%'",
                    row -> ahead.put(row.getString(1), Long.parseLong(row.getString(2))),
                    HOOKS.length() + 2);
            return ahead.build();
        });
    }

    @Override
    public void hooksTold(long event, ImmutableMap<String, Long> ahead) {
        write("note what hooks were told in", connection -> {
            Database.update(connection, "DELETE FROM meta WHERE key LIKE '" + HOOKS + ":%'");
            Database.update(
                    connection,
                    "INSERT OR REPLACE INTO meta(key, value) VALUES ('" + HOOKS + "', ?)",
                    Long.toString(event));
            for (Map.Entry<String, Long> one : ahead.entrySet()) {
                Database.update(
                        connection,
                        "INSERT INTO meta(key, value) VALUES (?, ?)",
                        HOOKS + ":" + one.getKey(),
                        Long.toString(one.getValue()));
            }
        });
    }

    @Override
    public void forgetHooks() {
        write(
                "forget what hooks were told in",
                connection -> Database.update(
                        connection, "DELETE FROM meta WHERE key = '" + HOOKS + "' OR key LIKE '" + HOOKS + ":%'"));
    }

    private void write(String tried, Writing writing) {
        database.<Boolean>write(tried, connection -> {
            writing.to(connection);
            return true;
        });
    }

    private void storeHistory(Connection connection, String workload, WorkloadHistory history) throws SQLException {
        // Nothing is written, and nothing waits for the disk, when it is the same as before.
        Database.update(connection, """
                INSERT INTO history(workload, document) VALUES (?, ?)
                ON CONFLICT (workload) DO UPDATE SET document = excluded.document WHERE document <> excluded.document
                """, workload, records.write(history));
        revisions(connection, workload).follow(history);
        rememberThatSomethingWasDeclared(connection);
    }

    private RevisionTable revisions(Connection connection, String workload) throws SQLException {
        return new RevisionTable(connection, workload, clock.instant(), documents::write);
    }

    private void storeInstance(Connection connection, Instance instance) throws SQLException {
        revisions(connection, instance.workload().toString()).launched(instance);
        Database.update(
                connection,
                "INSERT OR REPLACE INTO instance(workload, launch_id, document) VALUES (?, ?, ?)",
                instance.workload().toString(),
                instance.launchId(),
                records.write(instance));
    }

    private ImmutableSet<WorkloadId> declare(DeclarationTable table, ImmutableCollection<ToApply> declared)
            throws SQLException {
        for (ToApply each : declared) {
            documents.remember(each.workload(), each.document().text());
        }
        return table.declare(declared);
    }

    private static ImmutableSet<String> words(ImmutableCollection<ToApply> documents) {
        return documents.stream()
                .map(document -> document.workload().id().toString())
                .collect(ImmutableSet.toImmutableSet());
    }

    private static void rememberThatSomethingWasDeclared(Connection connection) throws SQLException {
        Database.update(connection, "INSERT OR IGNORE INTO meta(key, value) VALUES ('declared', 'true')");
    }

    @FunctionalInterface
    private interface Writing {
        void to(Connection connection) throws SQLException;
    }
}
