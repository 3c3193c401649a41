package io.homeostat.desired.state.sqlite;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.common.base.Supplier;
import com.google.common.base.Suppliers;
import com.google.common.cache.Cache;
import com.google.common.cache.CacheBuilder;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedMap;
import com.google.common.collect.Iterables;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Pause;
import io.homeostat.desired.state.RecordCodec;
import io.homeostat.desired.state.StateReader;
import io.homeostat.desired.state.StoreException;
import io.homeostat.desired.state.StoredSet;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.desired.yaml.DocumentCodec;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Comparator;
import java.util.Optional;
import java.util.OptionalLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Reads the tables of {@link Schema}: one query a call, however many workloads there are. */
sealed class SqliteStateReader implements StateReader permits SqliteStateStore {
    private static final Logger log = LoggerFactory.getLogger(SqliteStateReader.class);
    static final Comparator<Instance> OLDEST_FIRST =
            Comparator.comparing(Instance::launchedAt).thenComparing(Instance::launchId);

    final Database database;
    final ObjectMapper json = new ObjectMapper();
    final StoredDocuments documents = new StoredDocuments();
    final RecordCodec records = new RecordCodec(json, documents::read, documents::write);
    private final Supplier<Long> seed;
    private final Runnable afterClose;

    SqliteStateReader(Database database) {
        this(database, () -> {});
    }

    /** @param afterClose gives back what the database needed beside its connection */
    SqliteStateReader(Database database, Runnable afterClose) {
        this.database = database;
        this.afterClose = afterClose;
        this.seed = Suppliers.memoize(() -> database.read("read the random seed from", Schema::seed));
    }

    @Override
    public ImmutableList<StoredDeclaration> declarations() {
        return database.read(
                "read what is declared from", connection -> Database.list(connection, """
                SELECT source, workload, document, origin, newest, hash
                FROM declaration JOIN generation USING (source, workload)
                """, this::declaration));
    }

    @Override
    public ImmutableSet<WorkloadId> unreadable() {
        return database.read("read what is declared from", connection -> {
            ImmutableSet.Builder<WorkloadId> found = ImmutableSet.builder();
            Database.query(
                    connection,
                    "SELECT workload, document FROM declaration WHERE source = ?",
                    row -> {
                        try {
                            documents.read(row.getString(2));
                        } catch (RuntimeException e) {
                            WorkloadId.parse(row.getString(1)).ifPresent(found::add);
                        }
                    },
                    SourceName.APPLIED.word());
            return found.build();
        });
    }

    @Override
    public ImmutableList<SourceProblem> problems() {
        return database.read(
                "read the problems of the sources from",
                connection -> Database.list(
                        connection,
                        "SELECT * FROM source_problem ORDER BY source, origin, message",
                        row -> SourceProblemTable.read(source(row.getString("source")), row)));
    }

    @Override
    public ImmutableList<Pause> pauses() {
        return database.read("read the pauses from", PauseTable::all);
    }

    @Override
    public Optional<Pause> pause(WorkloadId id) {
        return database.read("read the pause of " + id + " from", connection -> PauseTable.of(connection, id));
    }

    @Override
    public boolean everDeclared() {
        return database.read(
                "read",
                connection ->
                        Sqlite.integer(connection, "SELECT EXISTS (SELECT 1 FROM meta WHERE key = 'declared')") == 1);
    }

    @Override
    public WorkloadHistory history(WorkloadId id) {
        return database.read(
                "read the history of " + id + " from",
                connection -> Iterables.getFirst(
                        Database.list(
                                connection,
                                "SELECT document FROM history WHERE workload = ?",
                                row -> history(id, row.getString(1)),
                                id.toString()),
                        WorkloadHistory.NONE));
    }

    /** What can't be read of a history is forgotten: it is worth less than the database it is in. */
    private WorkloadHistory history(WorkloadId id, String document) {
        return records.read(
                WorkloadHistory.class,
                document,
                // Without the message: it may quote the configuration.
                (part, e) -> log.warn(
                        "[{}] '{}' of the stored history can't be read ({}); it is forgotten",
                        id,
                        part,
                        e.getClass().getSimpleName()));
    }

    @Override
    public ImmutableSet<WorkloadId> remembered() {
        return database.read(
                "read which workloads are known from",
                connection -> ImmutableSet.<WorkloadId>builder()
                        .addAll(withHistory(connection))
                        .addAll(withInstances(connection))
                        .build());
    }

    static ImmutableList<WorkloadId> withHistory(Connection connection) throws SQLException {
        ImmutableList.Builder<WorkloadId> found = ImmutableList.builder();
        Database.query(
                connection,
                "SELECT workload FROM history",
                row -> known(row.getString(1)).ifPresent(found::add));
        return found.build();
    }

    ImmutableList<WorkloadId> withInstances(Connection connection) throws SQLException {
        return Database.list(connection, "SELECT DISTINCT workload FROM instance", row -> {
            String text = row.getString(1);
            return WorkloadId.parse(text)
                    .orElseThrow(() -> invalidInstance("of " + text, new IllegalArgumentException("workload " + text)));
        });
    }

    @Override
    public ImmutableMap<WorkloadId, WorkloadHistory> histories() {
        return database.read("read the histories from", connection -> {
            ImmutableMap.Builder<WorkloadId, WorkloadHistory> all = ImmutableMap.builder();
            Database.query(connection, "SELECT workload, document FROM history", row -> {
                Optional<WorkloadId> id = known(row.getString(1));
                if (id.isPresent()) {
                    all.put(id.get(), history(id.get(), row.getString(2)));
                }
            });
            return all.buildOrThrow();
        });
    }

    @Override
    public ImmutableList<StoredRevision> revisions(WorkloadId id) {
        return database.read(
                "read the revisions of " + id + " from",
                connection -> RevisionTable.of(connection, id.toString(), documents::read));
    }

    @Override
    public ImmutableList<Instance> instances(WorkloadId id) {
        return instances("SELECT launch_id, document FROM instance WHERE workload = ?", id.toString());
    }

    @Override
    public ImmutableList<Instance> instances() {
        return instances("SELECT launch_id, document FROM instance");
    }

    @Override
    public ImmutableList<StoredEvent> events(long after, int limit) {
        return database.read("read the events from", connection -> EventTable.after(connection, after, limit));
    }

    @Override
    public EventQueue eventQueue() {
        return database.read("read the queue of events from", SqliteOutbox::state);
    }

    @Override
    public ImmutableList<StoredSet.Standing> publishedSets() {
        return database.read(
                "read how published sets stand from", connection -> new PublishedSetTable(connection).standings());
    }

    @Override
    public ImmutableSortedMap<String, String> publishedDocuments(SourceName source) {
        return database.read(
                "read a published set from", connection -> new PublishedSetTable(connection).documents(source));
    }

    @Override
    public ImmutableList<StoredSet.Highest> highestSequences(SourceName source) {
        return database.read(
                "read the sequences of published sets from",
                connection -> new PublishedSetTable(connection).highest(source));
    }

    @Override
    public ImmutableSortedMap<String, String> rolloutStates() {
        return database.read(
                "read how rollouts stand from", connection -> new PublishedSetTable(connection).rolloutStates());
    }

    @Override
    public OptionalLong registeredAt(ImmutableSortedMap<String, String> labels) {
        return database.read(
                "read when this machine was registered from",
                connection -> new PublishedSetTable(connection).registeredAt(labels));
    }

    @Override
    public long seed() {
        return seed.get();
    }

    @Override
    public void close() {
        try {
            database.close();
        } finally {
            afterClose.run();
        }
    }

    private ImmutableList<Instance> instances(String sql, Object... values) {
        return database.read(
                "read the instances from",
                connection -> ImmutableList.sortedCopyOf(
                        OLDEST_FIRST, Database.list(connection, sql, this::instance, values)));
    }

    private Instance instance(ResultSet row) throws SQLException {
        String launchId = row.getString("launch_id");
        try {
            return records.read(Instance.class, row.getString("document"));
        } catch (IllegalArgumentException e) {
            throw invalidInstance(launchId, e);
        }
    }

    /** Never skipped: a process whose instance is overlooked would be started a second time. */
    private StoreException invalidInstance(String which, IllegalArgumentException cause) {
        return new StoreException(
                "cannot read the instance " + which + " in " + database.file() + ": its row is not valid ("
                        + cause
                        + "). Move the database away; what can be observed is adopted again",
                cause);
    }

    private StoredDeclaration declaration(ResultSet row) throws SQLException {
        SourceName source = source(row.getString("source"));
        String id = row.getString("workload");
        try {
            String document = row.getString("document");
            return new StoredDeclaration(
                    source,
                    documents.read(document),
                    row.getString("origin"),
                    row.getLong("newest"),
                    row.getString("hash"),
                    document.length());
        } catch (RuntimeException e) {
            // Never skipped: what is no longer declared would be removed from the machine.
            // The codec quotes no secrets; what else is thrown may.
            throw new StoreException("cannot read the document of " + id + " (" + source.word() + ") in "
                    + database.file() + " ("
                    + (e instanceof IllegalArgumentException
                            ? e.getMessage()
                            : e.getClass().getSimpleName())
                    + "): "
                    + switch (source) {
                        case APPLIED -> "apply it again, or delete " + id;
                        case CONTROL_PLANE -> "move the database away; what can be observed is adopted again";
                        case NOMAD -> "stop the task in Nomad; its driver withdraws " + id;
                        case GUEST -> "remove the container where it is declared; then it is withdrawn here, too";
                        case ETCD, BUCKET, HTTPS, GIT ->
                            "move the database away; the agent gets " + source.word()
                                    + " again, and what can be observed is adopted";
                        case FILES, LOCAL ->
                            "move the database away; the agent reads " + row.getString("origin")
                                    + " again, and what can be observed is adopted";
                    });
        }
    }

    private SourceName source(String word) {
        return SourceName.ofWord(word)
                .orElseThrow(
                        () -> new StoreException(
                                "cannot read " + database.file() + ": it has something from '" + word
                                        + "', which is no source. Move the database away; what can be observed is adopted again"));
    }

    static WorkloadId workload(String text) {
        return WorkloadId.parse(text).orElseThrow(() -> new IllegalArgumentException("workload " + text));
    }

    private static Optional<WorkloadId> known(String text) {
        Optional<WorkloadId> id = WorkloadId.parse(text);
        if (id.isEmpty()) {
            log.warn("the history of '{}' is left out: this program knows no such workload", text);
        }
        return id;
    }

    /**
     * Turns stored documents into workloads and back, each only once: the document of a converged workload is stored both as declared and as
     * last known good, and the loop reads both again and again.
     */
    static final class StoredDocuments {
        /** As long as somebody else has the workload. */
        private final Cache<String, Workload> workloads =
                CacheBuilder.newBuilder().weakValues().build();
        /** By identity: to compare workloads takes as long as to print them. */
        private final Cache<Workload, String> texts =
                CacheBuilder.newBuilder().weakKeys().build();

        /** @throws IllegalArgumentException when it is no valid document */
        Workload read(String document) {
            Workload known = workloads.getIfPresent(document);
            if (known == null) {
                known = DocumentCodec.fromJson(document);
                remember(known, document);
            }
            return known;
        }

        String write(Workload workload) {
            String known = texts.getIfPresent(workload);
            return known == null ? DocumentCodec.toJson(workload) : known;
        }

        void remember(Workload workload, String document) {
            workloads.put(document, workload);
            texts.put(workload, document);
        }
    }
}
