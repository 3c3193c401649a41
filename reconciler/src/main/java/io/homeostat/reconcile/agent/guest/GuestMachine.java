package io.homeostat.reconcile.agent.guest;

import com.google.common.base.Splitter;
import com.google.common.base.Throwables;
import io.homeostat.actuate.LocalDisk;
import io.homeostat.actuate.SecureDirectories;
import io.homeostat.proto.kata.CreateSandboxRequest;
import io.homeostat.reconcile.agent.frontend.FrontEndAgent;
import io.homeostat.reconcile.agent.frontend.WorkloadLook;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.environment.Version;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** This machine as its callers see it: a guest that has booted, has a sandbox or none, and is asked for its metrics. */
final class GuestMachine {
    private static final Logger LOG = LoggerFactory.getLogger(GuestMachine.class);
    private static final Duration REMOVAL = Duration.ofSeconds(30);
    private static final int REMOVALS = 8;

    /** A clock that is nearer than this is left alone: a call takes its time, too. */
    private static final Duration CLOCK_ACCURACY = Duration.ofSeconds(1);

    private static final int NANOS_PER_MICRO = 1000;
    private static final int HEXADECIMAL = 16;
    private static final long KIBIBYTE = 1024;
    private static final Splitter BLANKS = Splitter.on(' ').omitEmptyStrings();

    private final GuestPaths paths;
    private final OciRuntime runtime;
    private final HostedSandbox sandbox;
    private final HostedContainers containers;
    private final ContainerOperations operations;
    private final MachineFiles files;
    private final MachineNetwork network;
    private final GuestSystem system;
    private final Storages storages;
    private final LocalDisk disk = new LocalDisk();
    private final CountDownLatch end = new CountDownLatch(1);

    /** Held while there is a sandbox made or destroyed. */
    private final Object life = new Object();

    private boolean destroyed;

    /**
     * Takes up what is there, or, after another boot, makes sure that nothing of the one before is.
     *
     * @throws IOException when its directory can't be read or written
     * @throws CommandFailure when what was declared before the boot can't be withdrawn
     */
    GuestMachine(GuestPaths paths, FrontEndAgent agent, OciRuntime runtime, GuestSystem system)
            throws IOException, InterruptedException {
        this.paths = paths;
        this.runtime = runtime;
        this.system = system;
        this.storages = new Storages(paths, system);
        SecureDirectories.create(paths.root(), SecureDirectories.OURS);
        forgetFormerBoot(agent);
        this.sandbox = new HostedSandbox(paths, storages, system);
        RequestChecks checks = new RequestChecks(paths, runtime);
        this.containers = new HostedContainers(paths, agent, runtime, storages, sandbox, checks, system);
        this.operations = new ContainerOperations(containers, agent, runtime, checks, system);
        this.files = new MachineFiles(paths);
        this.network = new MachineNetwork(system.tools());
    }

    private void forgetFormerBoot(FrontEndAgent agent) throws IOException, InterruptedException {
        String now = system.procFs().bootId();
        Path file = paths.root().resolve("boot");
        if (Files.exists(file) && Files.readString(file).strip().equals(now)) {
            return;
        }
        // Before it is noted: if we die now, it is done again.
        for (WorkloadLook former : agent.former(HostedContainers.ORIGINS)) {
            LOG.info("{} is of a former boot, and is withdrawn", former.workload());
            agent.withdraw(former.workload());
        }
        // Where the machine is none, but namespaces that were made anew, something may be left.
        for (String container : runtime.containers()) {
            runtime.delete(container);
        }
        storages.unmountBelow(paths.root());
        storages.requireNothingMounted(paths.root());
        empty();
        disk.replace(file, now.getBytes(StandardCharsets.US_ASCII));
    }

    private void empty() throws IOException {
        try (DirectoryStream<Path> all = Files.newDirectoryStream(paths.root())) {
            for (Path one : all) {
                disk.deleteTree(one);
            }
        }
    }

    HostedContainers containers() {
        return containers;
    }

    ContainerOperations operations() {
        return operations;
    }

    HostedSandbox sandbox() {
        return sandbox;
    }

    MachineFiles files() {
        return files;
    }

    MachineNetwork network() {
        return network;
    }

    String version() {
        return Version.current();
    }

    /** Whether containers may have filters of system calls. */
    boolean filtersCalls() {
        return runtime.filtersCalls();
    }

    /** Makes its sandbox, unless this agent ends, which would leave nothing of it. */
    void create(CreateSandboxRequest request) throws IOException, InterruptedException {
        synchronized (life) {
            if (destroyed) {
                throw Refusals.unavailable("this agent ends with its sandbox; ask again when it was started again");
            }
            sandbox.create(request);
        }
    }

    /** Removes all containers and then the sandbox, so that the next one finds a machine as after its boot. */
    void destroy() throws IOException, InterruptedException {
        synchronized (life) {
            removeContainers();
            sandbox.destroy();
            Path shared = paths.real(GuestPaths.SHARED);
            storages.requireNothingMounted(shared);
            disk.deleteTree(shared);
            Files.deleteIfExists(scrapesFile());
            destroyed = true;
        }
    }

    /** Several at once: each takes the runtime's time and the agent's. */
    private void removeContainers() throws IOException, InterruptedException {
        try (ExecutorService removals =
                Executors.newFixedThreadPool(REMOVALS, Thread.ofVirtual().factory())) {
            List<Callable<Boolean>> all = new ArrayList<>();
            for (HostedContainer container : containers.all()) {
                all.add(() -> {
                    containers.remove(container, REMOVAL);
                    return true;
                });
            }
            for (Future<Boolean> removal : removals.invokeAll(all)) {
                boolean _ = removal.get();
            }
        } catch (ExecutionException e) {
            Throwable cause = Objects.requireNonNull(e.getCause(), "of a failure that was thrown by a removal");
            Throwables.throwIfInstanceOf(cause, IOException.class);
            Throwables.throwIfInstanceOf(cause, InterruptedException.class);
            Throwables.throwIfUnchecked(cause);
            throw new IllegalStateException(e);
        }
    }

    /** Has this agent end: whoever runs the machine has it end then, or starts it again. */
    void end() {
        end.countDown();
    }

    void awaitEnd() throws InterruptedException {
        end.await();
    }

    private Path scrapesFile() {
        return paths.root().resolve("scrapes");
    }

    /** In the text format of Prometheus, with the names of Kata's agent. They are counted for as long as the machine runs, whoever asks. */
    synchronized String metrics() throws IOException {
        long scrapes = scrapes() + 1;
        Path unfinished = scrapesFile().resolveSibling("scrapes.new");
        Files.writeString(unfinished, Long.toString(scrapes));
        disk.rename(unfinished, scrapesFile());
        StringBuilder text = new StringBuilder();
        text.append("# TYPE kata_agent_scrape_count counter\nkata_agent_scrape_count ")
                .append(scrapes)
                .append("\n# TYPE kata_guest_cpu_time gauge\n");
        String[] names = {"user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal", "guest", "guest_nice"};
        for (String line : Files.readAllLines(system.file("/proc/stat"))) {
            List<String> words = BLANKS.splitToList(line.strip());
            if (words.get(0).startsWith("cpu")) {
                String cpu = words.get(0).equals("cpu") ? "total" : words.get(0).substring("cpu".length());
                for (int i = 1; i < words.size() && i <= names.length; i++) {
                    text.append("kata_guest_cpu_time{cpu=\"")
                            .append(cpu)
                            .append("\",item=\"")
                            .append(names[i - 1])
                            .append("\"} ")
                            .append(words.get(i))
                            .append('\n');
                }
            }
        }
        text.append("# TYPE kata_guest_meminfo gauge\n");
        for (String line : Files.readAllLines(system.file("/proc/meminfo"))) {
            List<String> words = BLANKS.splitToList(line.replace(':', ' '));
            // MemAvailable is mem_available there.
            String item = words.get(0).replaceAll("([a-z])([A-Z])", "$1_$2").toLowerCase(Locale.ROOT);
            if (words.size() >= 2 && item.matches("[a-z_]+")) {
                long value = Long.parseLong(words.get(1)) * (words.size() > 2 ? KIBIBYTE : 1);
                text.append("kata_guest_meminfo{item=\"")
                        .append(item)
                        .append("\"} ")
                        .append(value)
                        .append('\n');
            }
        }
        return text.toString();
    }

    private long scrapes() throws IOException {
        try {
            return Long.parseLong(Files.readString(scrapesFile()).strip());
        } catch (NoSuchFileException e) {
            return 0;
        }
    }

    /** Sets the clock of this machine, unless it is right. */
    void setClock(long seconds, long micros) throws IOException, InterruptedException {
        Instant wanted;
        try {
            wanted = Instant.ofEpochSecond(seconds, Math.multiplyExact(micros, NANOS_PER_MICRO));
        } catch (DateTimeException | ArithmeticException e) {
            throw Refusals.invalid(seconds + " s and " + micros + " us are no time: " + e.getMessage());
        }
        if (Duration.between(system.clock().instant(), wanted).abs().compareTo(CLOCK_ACCURACY) >= 0) {
            String _ = system.tools().run("date", "--utc", "--set=" + wanted);
            LOG.info("the clock was set to {}", wanted);
        }
    }

    /** Bytes in which memory is plugged in; 0 where that can't be. */
    long memoryBlock() throws IOException {
        try {
            return Long.parseLong(
                    Files.readString(system.file("/sys/devices/system/memory/block_size_bytes"))
                            .strip(),
                    HEXADECIMAL);
        } catch (NoSuchFileException e) {
            return 0;
        }
    }
}
