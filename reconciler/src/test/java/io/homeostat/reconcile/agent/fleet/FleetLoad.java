package io.homeostat.reconcile.agent.fleet;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.etcd.EtcdKeyValues;
import io.homeostat.desired.etcd.KeyValues;
import io.homeostat.desired.etcd.KeyValuesException;
import io.homeostat.desired.fleet.FleetKeys;
import io.homeostat.desired.fleet.MachineReport.ReportedWorkload;
import io.homeostat.desired.model.AgentConfig.Etcd;
import io.homeostat.desired.model.WorkloadId;
import java.time.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Random;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Thousands of machines in one process, each with the reporter of an agent, all against one etcd: what a fleet costs it. Run by
 * {@code reconciler/fleet-load}.
 */
final class FleetLoad {
    private static final int CONNECTIONS = 8;
    private static final int WORKLOADS = 5;
    private static final double NANOS_PER_SECOND = 1e9;
    private static final Duration BETWEEN_CHANGES = Duration.ofSeconds(30);

    private final AtomicLong writes = new AtomicLong();
    private final AtomicInteger registered = new AtomicInteger();
    private final List<ReportedWorkloads> machines = new ArrayList<>();

    /** Each has a thread, which goes on for as long as this does. */
    private final List<FleetReporter> reporters = new ArrayList<>();

    private FleetLoad() {}

    public static void main(String[] arguments) throws InterruptedException {
        String endpoint = arguments[0];
        int machines = arguments.length > 1 ? Integer.parseInt(arguments[1]) : 10_000;
        String prefix = arguments.length > 2 ? arguments[2] : "/homeostat";
        new FleetLoad().run(new Etcd(ImmutableList.of(endpoint), prefix, null, null), machines);
    }

    private void run(Etcd etcd, int count) throws InterruptedException {
        List<KeyValues> connections = new ArrayList<>();
        for (int i = 0; i < CONNECTIONS; i++) {
            connections.add(new Counted(new EtcdKeyValues(etcd)));
        }
        FleetKeys keys = new FleetKeys(etcd.prefix());
        for (int i = 0; i < count; i++) {
            ReportedWorkloads workloads = new ReportedWorkloads();
            restarted(workloads, 0);
            machines.add(workloads);
            reporters.add(reporter(connections.get(i % CONNECTIONS), keys, i, workloads));
        }
        try (ScheduledExecutorService changes = Executors.newSingleThreadScheduledExecutor()) {
            var _ = changes.scheduleAtFixedRate(
                    this::change, BETWEEN_CHANGES.toSeconds(), BETWEEN_CHANGES.toSeconds(), TimeUnit.SECONDS);
            long before = 0;
            long then = System.nanoTime();
            while (true) {
                Thread.sleep(Duration.ofSeconds(1));
                long now = writes.get();
                // A busy machine sleeps for longer.
                long looked = System.nanoTime();
                double seconds = (looked - then) / NANOS_PER_SECOND;
                then = looked;
                System.out.printf(
                        Locale.ROOT,
                        "%d of %d machines registered, %.0f writes a second, %d in all%n",
                        registered.get(),
                        count,
                        (now - before) / seconds,
                        now);
                before = now;
            }
        }
    }

    private FleetReporter reporter(KeyValues connection, FleetKeys keys, int number, ReportedWorkloads workloads) {
        ImmutableSortedMap<String, String> labels =
                ImmutableSortedMap.of("role", number % 3 == 0 ? "db" : "web", "os.ID", "debian");
        FleetReporter reporter = new FleetReporter(
                connection,
                keys,
                String.format(Locale.ROOT, "machine-%05d", number),
                workloads,
                () -> new Reporter.About("load", labels, "etcd", "1", 1, 0),
                Clock.systemUTC(),
                new Random(number),
                Reporter.INTERVAL,
                FleetReporter.LEASE,
                (with, revision) -> registered.incrementAndGet());
        workloads.onChange(reporter::changed);
        reporter.start();
        return reporter;
    }

    /** What is published changes all machines in the same moment. */
    private void change() {
        int times = (int) (System.nanoTime() / BETWEEN_CHANGES.toNanos());
        machines.forEach(machine -> restarted(machine, times));
    }

    private static void restarted(ReportedWorkloads machine, int times) {
        for (int i = 0; i < WORKLOADS; i++) {
            WorkloadId id = WorkloadId.process("workload-" + i);
            machine.note(
                    id,
                    new ReportedWorkload(
                            id.toString(), "1", "1", "", "RUNNING", true, true, false, false, i == 0 ? times : 0, ""));
        }
    }

    /** Counts what is written, and lets a bounded number ask at once: agents have a connection each. */
    private final class Counted implements KeyValues {
        private final KeyValues etcd;
        private final Semaphore turns = new Semaphore(100);

        Counted(KeyValues etcd) {
            this.etcd = etcd;
        }

        private interface Question<T> {
            T ask() throws KeyValuesException, InterruptedException;
        }

        private <T> T inTurn(Question<T> question) throws KeyValuesException, InterruptedException {
            turns.acquire();
            try {
                return question.ask();
            } finally {
                turns.release();
            }
        }

        @Override
        public OptionalLong commit(ImmutableList<Condition> conditions, ImmutableList<Write> changes)
                throws KeyValuesException, InterruptedException {
            OptionalLong done = inTurn(() -> etcd.commit(conditions, changes));
            // Conditions alone are a question.
            writes.addAndGet(done.isPresent() && !changes.isEmpty() ? 1 : 0);
            return done;
        }

        @Override
        public Optional<Entry> get(String key, long revision) throws KeyValuesException, InterruptedException {
            return inTurn(() -> etcd.get(key, revision));
        }

        @Override
        public Listing list(String prefix, long most) throws KeyValuesException, InterruptedException {
            return inTurn(() -> etcd.list(prefix, most));
        }

        @Override
        public long grant(Duration timeToLive) throws KeyValuesException, InterruptedException {
            return inTurn(() -> etcd.grant(timeToLive));
        }

        @Override
        public boolean renew(long lease) throws KeyValuesException, InterruptedException {
            return inTurn(() -> etcd.renew(lease));
        }

        @Override
        public void revoke(long lease) throws KeyValuesException, InterruptedException {
            inTurn(() -> {
                etcd.revoke(lease);
                return lease;
            });
        }

        @Override
        public Watching watch(String prefix, long after, Listener listener) {
            return etcd.watch(prefix, after, listener);
        }

        @Override
        public Leadership campaign(String name, long lease, String candidate)
                throws KeyValuesException, InterruptedException {
            return etcd.campaign(name, lease, candidate);
        }

        @Override
        public void close() {
            etcd.close();
        }
    }
}
