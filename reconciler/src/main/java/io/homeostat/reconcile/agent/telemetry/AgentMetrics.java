package io.homeostat.reconcile.agent.telemetry;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.StoreException;
import io.homeostat.desired.state.StoredSet;
import io.homeostat.observe.usage.UsageReport.Usage;
import io.homeostat.reconcile.agent.hooks.Hooks;
import io.homeostat.reconcile.controlplane.ControlPlane.ControlPlaneStatus;
import io.homeostat.reconcile.loop.PassListener;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MultiGauge;
import io.micrometer.core.instrument.Tags;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;
import java.util.function.ToLongFunction;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The agent's metrics in Prometheus' text format, asked by whoever scrapes. The reconciler's README lists them all.
 *
 * <p>Labels are words of ours, of which there are few, and names and revisions of workloads. The series of a workload end when nothing is
 * left of it, those of what it uses when it does not run.
 */
public final class AgentMetrics {
    private static final Logger LOG = LoggerFactory.getLogger(AgentMetrics.class);

    private final PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    private final PassMetrics passes;
    private final WorkloadMetrics workloads;
    private final MultiGauge cpu;
    private final MultiGauge memory;
    private final MultiGauge setSequence;
    private final MultiGauge setAge;
    private final Instant started;
    private volatile Supplier<? extends Map<WorkloadId, Usage>> usage = Map::of;
    private volatile Supplier<ImmutableList<StoredSet.Standing>> sets = ImmutableList::of;
    private volatile InstantSource setClock = InstantSource.system();

    /** @param started when this process began */
    public AgentMetrics(Ticker ticker, String version, Instant started) {
        this.started = started;
        this.passes = new PassMetrics(ticker, registry);
        this.workloads = new WorkloadMetrics(registry);
        this.cpu = MultiGauge.builder("homeostat.workload.cpu.ratio")
                .description("Processor time of a workload's process tree over its last interval; 1 is one core.")
                .register(registry);
        this.memory = MultiGauge.builder("homeostat.workload.memory.bytes")
                .description("Memory of a workload's process tree.")
                .register(registry);
        this.setSequence = MultiGauge.builder("homeostat.set.sequence")
                .description("Sequence of the published set that is in force; 0 when it has none.")
                .register(registry);
        this.setAge = MultiGauge.builder("homeostat.set.age.seconds")
                .description("Since a source of published sets answered last; if it never has, since the agent began.")
                .register(registry);
        Gauge.builder("homeostat.build.info", () -> 1)
                .description("Always 1; the labels say what runs.")
                .tag("version", version)
                .tag("java", Runtime.version().toString())
                .register(registry);
        gauge(
                "process.start.time.seconds",
                "When the agent began, in seconds since 1970.",
                m -> started.toEpochMilli() / 1000.0);
        gauge("process.resident.memory.bytes", "Memory of the agent itself.", m -> OwnProcess.residentBytes());
        gauge("process.open.fds", "File descriptors the agent has open.", m -> OwnProcess.openDescriptors());
        gauge("process.max.fds", "File descriptors the agent may have open.", m -> OwnProcess.mostDescriptors());
        gauge("process.threads", "Threads of the agent, as the kernel counts.", m -> OwnProcess.threads());
        gauge("homeostat.heap.used.bytes", "Memory that the agent's objects take.", m -> (double)
                (Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory()));
        gauge("homeostat.heap.max.bytes", "Memory that the agent's objects may take.", m ->
                (double) Runtime.getRuntime().maxMemory());
    }

    public PassMetrics passes() {
        return passes;
    }

    /** What has to hear of passes. */
    ImmutableList<PassListener> listeners() {
        return ImmutableList.of(passes, workloads);
    }

    /** Shows how many workloads are due and have no pass yet. */
    public void queueDepth(LongSupplier depth) {
        supplied("homeostat.queue.depth", "Workloads that are due and have no pass yet.", depth::getAsLong);
    }

    /** Shows a source's problems: what it declares and can't be believed. */
    public void sourceProblems(String source, LongSupplier problems) {
        Gauge.builder("homeostat.source.problems", problems, p -> (double) p.getAsLong())
                .description("What of a source's declarations can't be used.")
                .tag("source", source)
                .strongReference(true)
                .register(registry);
    }

    /** Shows how each source of published sets stands; a series ends with its source. */
    public void sets(Supplier<ImmutableList<StoredSet.Standing>> standing, InstantSource clock) {
        setClock = clock;
        sets = standing;
    }

    /** Shows the latest sample of each workload that runs; asked at each scrape, so a series ends with its workload. */
    public void usage(Supplier<? extends Map<WorkloadId, Usage>> latest) {
        usage = latest;
    }

    /** Metrics of the control plane, all zero where none is configured. */
    public void controlPlane(Supplier<Optional<ControlPlaneStatus>> status) {
        supplied(
                "homeostat.control.plane.connected",
                "1 while the control plane is connected.",
                number(status, one -> one.channel().connectedSince() == null ? 0 : 1));
        supplied(
                "homeostat.control.plane.unacknowledged",
                "Messages that the control plane has not acknowledged.",
                number(status, one -> one.channel().unacknowledged()));
        supplied(
                "homeostat.control.plane.queued.events",
                "Events that the control plane has not acknowledged.",
                number(status, ControlPlaneStatus::queuedEvents));
        counted(
                "homeostat.control.plane.dropped.events",
                "Events that the control plane will never hear of, because there were too many.",
                number(status, ControlPlaneStatus::droppedEvents));
        counted(
                "homeostat.control.plane.refused.events",
                "Events that the control plane would not take.",
                number(status, ControlPlaneStatus::refusedEvents));
        counted(
                "homeostat.control.plane.withheld.refusals",
                "Refused items of the control plane's messages that were counted and not told, because there were too many.",
                number(status, ControlPlaneStatus::withheldRefusals));
    }

    private static Supplier<Number> number(
            Supplier<Optional<ControlPlaneStatus>> status, ToLongFunction<ControlPlaneStatus> number) {
        return () -> status.get().map(number::applyAsLong).orElse(0L);
    }

    /** Shows whether {@code /healthz} is well. */
    public void watch(LoopWatch loop) {
        supplied(
                "homeostat.healthy",
                "1 while the loop goes round, 0 while it is stuck.",
                () -> loop.problem().isEmpty() ? 1 : 0);
    }

    public void log(AgentLog log) {
        FunctionCounter.builder("homeostat.log.lines.dropped", log, AgentLog::dropped)
                .description("Lines of the agent's log that were lost because standard error was not read in time.")
                .register(registry);
    }

    /** For whoever tells hooks of events: counts how the attempts end. */
    public Consumer<Hooks.Delivery> hooks() {
        Map<Hooks.Delivery, Counter> counters = new EnumMap<>(Hooks.Delivery.class);
        for (Hooks.Delivery delivery : Hooks.Delivery.values()) {
            counters.put(
                    delivery,
                    Counter.builder("homeostat.hook.deliveries")
                            .description("Attempts to tell a hook of an event.")
                            .tag("outcome", delivery.name().toLowerCase(Locale.ROOT))
                            .register(registry));
        }
        return delivery -> Objects.requireNonNull(counters.get(delivery)).increment();
    }

    /** Everything, in Prometheus' text format. */
    public synchronized String scrape() {
        workloads.refresh();
        Map<WorkloadId, Usage> latest = usage.get();
        cpu.register(rows(latest, use -> use.cpuPercent() / 100), true);
        memory.register(rows(latest, Usage::memoryBytes), true);
        refreshSets();
        return registry.scrape();
    }

    private void refreshSets() {
        List<MultiGauge.Row<?>> sequences = new ArrayList<>();
        List<MultiGauge.Row<?>> ages = new ArrayList<>();
        try {
            for (StoredSet.Standing standing : sets.get()) {
                Tags source = Tags.of("source", standing.source().word());
                standing.set().ifPresent(set -> sequences.add(MultiGauge.Row.of(source, set.sequence())));
                Duration age = Duration.between(standing.answeredAt().orElse(started), setClock.instant());
                ages.add(MultiGauge.Row.of(source, age.toMillis() / 1000.0));
            }
        } catch (StoreException e) {
            // The other metrics count all the more then.
            LOG.debug("how published sets stand can't be read", e);
        }
        setSequence.register(sequences, true);
        setAge.register(ages, true);
    }

    private static List<MultiGauge.Row<?>> rows(Map<WorkloadId, Usage> latest, ToDoubleFunction<Usage> value) {
        List<MultiGauge.Row<?>> rows = new ArrayList<>();
        latest.forEach((id, use) -> rows.add(MultiGauge.Row.of(Tags.of("workload", id.brief()), use, value)));
        return rows;
    }

    private void gauge(String name, String description, ToDoubleFunction<AgentMetrics> value) {
        Gauge.builder(name, this, value).description(description).register(registry);
    }

    private void counted(String name, String description, Supplier<Number> value) {
        // The registry holds objects weakly, and a counter without its object stands still.
        FunctionCounter.builder(name, this, _ -> value.get().doubleValue())
                .description(description)
                .register(registry);
    }

    private void supplied(String name, String description, Supplier<Number> value) {
        Gauge.builder(name, value).description(description).register(registry);
    }

    /** What this process takes of the machine, from proc(5). What can't be seen is NaN, which Prometheus knows. */
    private static final class OwnProcess {
        /** Of every architecture that we run on with its usual kernel. */
        private static final int PAGE = 4096;

        private static final Path SELF = Path.of("/proc/self");

        private OwnProcess() {}

        /** Memory that is in use and not swapped out, in bytes. */
        static double residentBytes() {
            try {
                List<String> fields = Splitter.on(' ')
                        .splitToList(Files.readString(SELF.resolve("statm"), StandardCharsets.US_ASCII)
                                .strip());
                return (double) Long.parseLong(fields.get(1)) * PAGE;
            } catch (IOException | RuntimeException e) {
                return unseen("statm", e);
            }
        }

        static double openDescriptors() {
            try (Stream<Path> descriptors = Files.list(SELF.resolve("fd"))) {
                // One of them is that of the list itself.
                return descriptors.count() - 1;
            } catch (IOException | RuntimeException e) {
                return unseen("fd", e);
            }
        }

        /** How many descriptors may be open at the same time: the soft limit. */
        static double mostDescriptors() {
            try (Stream<String> lines = Files.lines(SELF.resolve("limits"), StandardCharsets.US_ASCII)) {
                String value = lines.filter(line -> line.startsWith("Max open files"))
                        .map(line -> Splitter.on(' ')
                                .omitEmptyStrings()
                                .splitToList(line)
                                .get(3))
                        .findFirst()
                        .orElseThrow(() -> new IOException("no line 'Max open files'"));
                return value.equals("unlimited") ? Double.POSITIVE_INFINITY : Double.parseDouble(value);
            } catch (IOException | RuntimeException e) {
                return unseen("limits", e);
            }
        }

        /** Of the kernel, so virtual threads are not among them. */
        static double threads() {
            try (Stream<Path> tasks = Files.list(SELF.resolve("task"))) {
                return tasks.count();
            } catch (IOException | RuntimeException e) {
                return unseen("task", e);
            }
        }

        private static double unseen(String file, Exception e) {
            LOG.debug("{}/{} can't be read", SELF, file, e);
            return Double.NaN;
        }
    }
}
