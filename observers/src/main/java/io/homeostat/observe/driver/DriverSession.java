package io.homeostat.observe.driver;

import com.google.common.base.Ascii;
import com.google.common.base.Throwables;
import com.google.common.collect.Comparators;
import com.google.common.collect.ImmutableSortedSet;
import com.google.protobuf.ByteString;
import com.google.protobuf.Timestamp;
import io.grpc.Context;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.homeostat.desired.platform.Backoff;
import io.homeostat.desired.platform.TokenBucket;
import io.homeostat.observe.goplugin.HostEnvironment;
import io.homeostat.observe.goplugin.PluginConnection;
import io.homeostat.observe.goplugin.PluginStream;
import io.homeostat.proto.nomad.base.BasePluginGrpc;
import io.homeostat.proto.nomad.base.BasePluginGrpc.BasePluginBlockingStub;
import io.homeostat.proto.nomad.base.ConfigSchemaRequest;
import io.homeostat.proto.nomad.base.NomadConfig;
import io.homeostat.proto.nomad.base.NomadDriverConfig;
import io.homeostat.proto.nomad.base.PluginInfoRequest;
import io.homeostat.proto.nomad.base.PluginInfoResponse;
import io.homeostat.proto.nomad.base.PluginType;
import io.homeostat.proto.nomad.base.SetConfigRequest;
import io.homeostat.proto.nomad.driver.CapabilitiesRequest;
import io.homeostat.proto.nomad.driver.CreateNetworkRequest;
import io.homeostat.proto.nomad.driver.CreateNetworkResponse;
import io.homeostat.proto.nomad.driver.DestroyNetworkRequest;
import io.homeostat.proto.nomad.driver.DestroyTaskRequest;
import io.homeostat.proto.nomad.driver.DriverCapabilities;
import io.homeostat.proto.nomad.driver.DriverGrpc;
import io.homeostat.proto.nomad.driver.DriverGrpc.DriverBlockingStub;
import io.homeostat.proto.nomad.driver.ExitResult;
import io.homeostat.proto.nomad.driver.FingerprintRequest;
import io.homeostat.proto.nomad.driver.FingerprintResponse;
import io.homeostat.proto.nomad.driver.InitRequest;
import io.homeostat.proto.nomad.driver.InspectTaskRequest;
import io.homeostat.proto.nomad.driver.NetworkIsolationSpec;
import io.homeostat.proto.nomad.driver.RecoverTaskRequest;
import io.homeostat.proto.nomad.driver.ShutdownRequest;
import io.homeostat.proto.nomad.driver.StartTaskRequest;
import io.homeostat.proto.nomad.driver.StartTaskResponse;
import io.homeostat.proto.nomad.driver.StopTaskRequest;
import io.homeostat.proto.nomad.driver.TaskConfig;
import io.homeostat.proto.nomad.driver.TaskConfigSchemaRequest;
import io.homeostat.proto.nomad.driver.TaskHandle;
import io.homeostat.proto.nomad.driver.TaskStatus;
import io.homeostat.proto.nomad.driver.WaitTaskRequest;
import io.homeostat.proto.nomad.driver.WaitTaskResponse;
import io.homeostat.proto.nomad.hclspec.Spec;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * All calls to one launch of a driver, over one connection, for as long as it runs. Safe for use by several threads. Every call has a
 * deadline, so that a driver that hangs holds up nobody but who asks it.
 *
 * <p>After a launch {@link #configure} sets it up; a driver that was set up by an earlier agent is taken up again by {@link #attach}.
 * From then on its fingerprint is read continuously.
 */
public final class DriverSession implements AutoCloseable {
    /** What a task driver of Nomad wants to find in its environment. */
    public static final HostEnvironment HOST = new HostEnvironment(
            "NOMAD_PLUGIN_MAGIC_COOKIE",
            "e4327c2e01eabfd75a8a67adb114fb34a757d57eee7728d857a8cec6e91a7255",
            ImmutableSortedSet.of(2));

    private static final Logger LOG = LoggerFactory.getLogger(DriverSession.class);

    private static final String API = "0.1.0";
    private static final Duration SHUTDOWN = Duration.ofSeconds(2);

    /** From an end that a driver can't tell of until somebody looks. */
    private static final Duration AFTER_ERROR = Duration.ofSeconds(1);

    private static final Duration LATE = Duration.ofSeconds(10);

    /** For so long nobody asks again after it did not answer. */
    private static final Duration SILENCE = Duration.ofSeconds(5);

    private static final Duration CLOSING = Duration.ofSeconds(1);

    /** What a stop may take longer than the task has been given. */
    private static final Duration STOPPING = Duration.ofSeconds(5);

    /** Ports that drivers may give to what they run beside tasks. */
    private static final int MIN_PORT = 14_000;

    private static final int MAX_PORT = 14_512;

    /**
     * The most bytes of all answers but those to StartTask, which has the whole task, and to commands in tasks, which have their output. Most
     * are a few hundred bytes; once it is read, a message that consists of the smallest parts takes 30 times its length.
     */
    static final int LONGEST_MESSAGE = 2 << 20;

    /** How much of what a driver says of itself is shown. */
    private static final int SHOWN = 200;

    /** The first second that a Timestamp may have, that of the year 1. */
    private static final long FIRST_SECOND = -62_135_596_800L;

    /** The last second that a Timestamp may have, that of the year 9999. */
    private static final long LAST_SECOND = 253_402_300_799L;

    /** Bytes of a schema, which is in memory as long as its driver runs; Nomad's largest has some 20 KB. */
    private static final int LONGEST_SCHEMA = 64 << 10;

    /** Bytes of a handle, which is in memory as long as its task runs, beside what it says of the task. Those of Nomad's drivers are far smaller. */
    private static final int LONGEST_HANDLE = 64 << 10;

    /** How often a handle may have the configuration of its task: drivers put it into their own part, too, in another form. */
    private static final int HANDLE_CONFIGS = 4;

    /** Between two attempts to read a driver's fingerprint. */
    private static final Backoff REOPEN = Backoff.doubling(Duration.ofSeconds(5), Duration.ofMinutes(2));

    /** So many fingerprints are read at once, then one in each of these times; most drivers send one in 30 s. */
    private static final int FINGERPRINTS = 10;

    private static final Duration PER_FINGERPRINT = Duration.ofSeconds(1);

    private final String name;
    private final boolean adopts;
    private final PluginConnection connection;
    private final BooleanSupplier alive;
    private final InstantSource clock;
    private final Backoff reopen;
    private final DriverBlockingStub driver;
    private final BasePluginBlockingStub base;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition told = lock.newCondition();

    /** Cancels what is read continuously. */
    private final Context.CancellableContext reading = Context.ROOT.withCancellation();

    /** Who is to be told of the end of a task, by its id: one at most, who asks last. */
    private final Map<String, Runnable> listeners = new ConcurrentHashMap<>();

    /** Of the tasks that are waited for, by id: how each has ended, empty until it has. */
    private final Map<String, Optional<ExitResult>> ends = new ConcurrentHashMap<>();

    /** When the driver last said of a task that it runs, by the task's id. */
    private final Map<String, Instant> saidToRun = new ConcurrentHashMap<>();

    private final Set<Thread> threads = ConcurrentHashMap.newKeySet();
    private final CountDownLatch closed = new CountDownLatch(1);

    private volatile boolean setUp;
    private volatile boolean ending;

    /** Held while it is asked who it is, which may take as long as it hangs. */
    private final ReentrantLock attaching = new ReentrantLock();

    private @Nullable DriverFailure silence;
    private Instant silentUntil = Instant.MIN;

    /** Whether its fingerprint has been waited for, in vain or not. */
    private boolean awaited;

    private Fingerprint fingerprint;

    /** Used by one stream at a time. */
    private final TokenBucket fingerprints;

    private volatile @Nullable Thread reader;
    private volatile @Nullable DriverCapabilities capabilities;
    private final AtomicReference<@Nullable FutureTask<Spec>> taskSchema = new AtomicReference<>();
    private volatile @Nullable Info plugin;
    private volatile @Nullable String expectedName;

    /**
     * What a driver says that it is.
     *
     * @param api the version of its interface that both know, as it is spelled by the driver
     */
    public record Info(String name, String version, String api) {}

    /** What a driver is set up with. */
    @FunctionalInterface
    public interface Configuration {
        /** The configuration as this schema wants it, in msgpack. */
        byte[] by(Spec schema) throws DriverFailure;
    }

    /**
     * A session that connects when it is first used.
     *
     * @param name for log lines
     * @param connection closed with this
     * @param alive whether the driver's process runs
     */
    DriverSession(String name, PluginConnection connection, BooleanSupplier alive, InstantSource clock) {
        this(name, connection, alive, clock, REOPEN, true);
    }

    /** @param adopts whether {@link #attach} initializes the driver, which is for whoever will look after it */
    DriverSession(
            String name, PluginConnection connection, BooleanSupplier alive, InstantSource clock, boolean adopts) {
        this(name, connection, alive, clock, REOPEN, adopts);
    }

    DriverSession(
            String name,
            PluginConnection connection,
            BooleanSupplier alive,
            InstantSource clock,
            Backoff reopen,
            boolean adopts) {
        this.name = name;
        this.adopts = adopts;
        this.reopen = reopen;
        this.connection = connection;
        this.alive = alive;
        this.clock = clock;
        this.driver = DriverGrpc.newBlockingStub(connection.channel()).withMaxInboundMessageSize(LONGEST_MESSAGE);
        this.base = BasePluginGrpc.newBlockingStub(connection.channel()).withMaxInboundMessageSize(LONGEST_MESSAGE);
        this.fingerprints =
                new TokenBucket(FINGERPRINTS, PER_FINGERPRINT.toNanos(), TokenBucket.nanos(clock.instant()));
        this.fingerprint = Fingerprint.unknown("it has not said yet whether it can run tasks here", clock.instant());
    }

    /**
     * Sets up a driver that was just launched; called once.
     *
     * @param timeout of each call
     */
    public Info configure(Configuration configuration, Duration timeout) throws DriverFailure, InterruptedException {
        Info info = info(timeout);
        Spec schema = configSchema(timeout);
        SetConfigRequest request = SetConfigRequest.newBuilder()
                .setMsgpackConfig(ByteString.copyFrom(configuration.by(schema)))
                .setPluginApiVersion(info.api())
                .setNomadConfig(NomadConfig.newBuilder()
                        .setDriver(NomadDriverConfig.newBuilder()
                                .setClientMinPort(MIN_PORT)
                                .setClientMaxPort(MAX_PORT)
                                .setTopology(HostTopology.read().message())))
                .build();
        call("SetConfig", timeout, base, stub -> stub.setConfig(request));
        init(timeout);
        follow();
        return info;
    }

    /** Takes up a driver that was set up before, unless this session has done so already. It must not be configured again. */
    public void attach(Duration timeout) throws DriverFailure, InterruptedException {
        attach(timeout, false);
    }

    /** The same, but for some seconds after it did not answer it is not asked: of a hundred tasks each would wait as long. */
    public void attachUnlessSilent(Duration timeout) throws DriverFailure, InterruptedException {
        attach(timeout, true);
    }

    private void attach(Duration timeout, boolean spared) throws DriverFailure, InterruptedException {
        if (setUp) {
            return;
        }
        if (!attaching.tryLock(timeout.toNanos(), TimeUnit.NANOSECONDS)) {
            throw DriverFailure.silent("it has not answered others for " + timeout.toMillis() + " ms");
        }
        try {
            DriverFailure before = silence;
            if (spared && before != null && clock.instant().isBefore(silentUntil)) {
                throw before;
            }
            if (!setUp) {
                requireExpected(info(timeout));
                if (adopts) {
                    init(timeout);
                }
                follow();
            }
            silence = null;
        } catch (DriverFailure e) {
            if (e.isSilence() && silence != e) {
                silence = e;
                silentUntil = clock.instant().plus(SILENCE);
            }
            throw e;
        } finally {
            attaching.unlock();
        }
    }

    /** Who else listens at its socket must not be taken for it, nor be told anything. */
    private void requireExpected(Info info) throws DriverFailure {
        String expected = expectedName;
        if (expected != null && !expected.equals(info.name())) {
            throw new DriverFailure(
                    "who answers at its socket calls itself " + info.name() + ", and what was launched " + expected);
        }
    }

    /** @param name what it called itself when it was set up */
    void expect(String name) {
        expectedName = name;
    }

    /** Older drivers know nothing of it. */
    private void init(Duration timeout) throws DriverFailure, InterruptedException {
        try {
            call("Init", timeout, driver, stub -> stub.init(InitRequest.getDefaultInstance()));
        } catch (DriverFailure e) {
            if (!e.isUnimplemented()) {
                throw e;
            }
        }
    }

    /** Once, however often it is set up. */
    private void follow() {
        lock.lock();
        try {
            if (!setUp) {
                setUp = true;
                reader = begin("fingerprint " + name, this::readFingerprints);
            }
        } finally {
            lock.unlock();
        }
    }

    /** Something that goes on until the session is closed, or is over by itself. */
    private Thread begin(String what, Runnable work) {
        Thread thread = Thread.ofVirtual().name(what).unstarted(() -> {
            try {
                reading.run(work);
            } finally {
                threads.remove(Thread.currentThread());
            }
        });
        threads.add(thread);
        thread.start();
        return thread;
    }

    /** Who it is, refused when it is no driver that we can speak with. */
    private Info info(Duration timeout) throws DriverFailure, InterruptedException {
        PluginInfoResponse info =
                call("PluginInfo", timeout, base, stub -> stub.pluginInfo(PluginInfoRequest.getDefaultInstance()));
        if (info.getType() != PluginType.DRIVER) {
            throw new DriverFailure(
                    "it is a plugin of type " + info.getType() + ", not a task driver; correct spec.entryPoint");
        }
        String api = info.getPluginApiVersionsList().stream()
                .filter(version -> version.equals(API) || version.equals("v" + API))
                .findFirst()
                .orElseThrow(() -> new DriverFailure("it speaks the versions "
                        + Ascii.truncate(info.getPluginApiVersionsList().toString(), SHOWN, "...")
                        + " of the interface of drivers, and we speak v" + API + "; install another release of it"));
        Info said = new Info(
                Ascii.truncate(info.getName(), SHOWN, "..."),
                Ascii.truncate(info.getPluginVersion(), SHOWN, "..."),
                api);
        plugin = said;
        return said;
    }

    /** What it said that it is; null before it was set up or taken up. */
    public @Nullable Info plugin() {
        return plugin;
    }

    /** What it is configured with itself. */
    public Spec configSchema(Duration timeout) throws DriverFailure, InterruptedException {
        return call(
                        "ConfigSchema",
                        timeout,
                        base.withMaxInboundMessageSize(LONGEST_SCHEMA),
                        stub -> stub.configSchema(ConfigSchemaRequest.getDefaultInstance()))
                .getSpec();
    }

    /**
     * What its tasks are configured with. However many want to know it at the same time, it is asked once, and all are told what comes of it:
     * read, an answer takes far more memory.
     */
    public Spec taskSchema(Duration timeout) throws DriverFailure, InterruptedException {
        FutureTask<Spec> asking = new FutureTask<>(() -> call(
                        "TaskConfigSchema",
                        timeout,
                        driver.withMaxInboundMessageSize(LONGEST_SCHEMA),
                        stub -> stub.taskConfigSchema(TaskConfigSchemaRequest.getDefaultInstance()))
                .getSpec());
        while (true) {
            FutureTask<Spec> known = taskSchema.compareAndExchange(null, asking);
            FutureTask<Spec> asked = known == null ? asking : known;
            asked.run();
            try {
                return asked.get();
            } catch (ExecutionException e) {
                taskSchema.compareAndSet(asked, null);
                Throwable cause = Objects.requireNonNull(e.getCause());
                if (cause instanceof InterruptedException && !asked.equals(asking)) {
                    continue;
                }
                Throwables.throwIfInstanceOf(cause, DriverFailure.class);
                Throwables.throwIfInstanceOf(cause, InterruptedException.class);
                Throwables.throwIfUnchecked(cause);
                throw new IllegalStateException(cause);
            }
        }
    }

    public DriverCapabilities capabilities(Duration timeout) throws DriverFailure, InterruptedException {
        DriverCapabilities known = capabilities;
        if (known == null) {
            known = call(
                            "Capabilities",
                            timeout,
                            driver,
                            stub -> stub.capabilities(CapabilitiesRequest.getDefaultInstance()))
                    .getCapabilities();
            capabilities = known;
        }
        return known;
    }

    /** What it last said of itself. Waits for the first time that it does, once and no longer than this. */
    public Fingerprint fingerprint(Duration wait) throws InterruptedException {
        lock.lockInterruptibly();
        try {
            long left = wait.toNanos();
            while (setUp && !awaited && left > 0) {
                left = told.awaitNanos(left);
            }
            awaited |= setUp;
            return fingerprint;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Asks whether it serves.
     *
     * @throws StatusRuntimeException when it does not say so in time
     */
    public void check(Duration timeout) {
        connection.check(timeout);
    }

    /** For calls that are somebody else's; not to be closed. */
    PluginConnection connection() {
        return connection;
    }

    /** Whether it was set up, so that it may be asked about tasks. */
    boolean isSetUp() {
        return setUp;
    }

    /** Whether it was told to end: that calls break off then is nobody's fault. */
    boolean isEnding() {
        return ending;
    }

    boolean isClosed() {
        return closed.getCount() == 0;
    }

    boolean isAlive() {
        return alive.getAsBoolean();
    }

    /** Whether what it says of itself is still read. */
    boolean isReading() {
        Thread started = reader;
        return started != null && started.isAlive();
    }

    private void readFingerprints() {
        int failures = 0;
        while (!reading.isCancelled()) {
            String why = "it no longer says whether it can run tasks here";
            FingerprintStream stream = new FingerprintStream();
            DriverGrpc.newStub(connection.channel())
                    .withMaxInboundMessageSize(LONGEST_MESSAGE)
                    .fingerprint(FingerprintRequest.getDefaultInstance(), stream);
            Status end = stream.end.join();
            if (!end.isOk()) {
                why += ": " + end.getCode();
            }
            if (stream.hasAnswered) {
                failures = 0;
            }
            if (reading.isCancelled() || !alive.getAsBoolean()) {
                return;
            }
            failures++;
            note(Fingerprint.unknown(why, clock.instant()));
            LOG.debug("[{}] {}", name, why);
            try {
                Duration pause = reopen.delay(failures, reopen.initial().dividedBy(2), RandomGenerator.getDefault());
                if (closed.await(pause.toNanos(), TimeUnit.NANOSECONDS)) {
                    return;
                }
            } catch (InterruptedException e) {
                return;
            }
        }
    }

    /** Keeps the newest fingerprint. */
    private final class FingerprintStream extends PluginStream<FingerprintRequest, FingerprintResponse> {
        final CompletableFuture<Status> end = new CompletableFuture<>();
        volatile boolean hasAnswered;

        FingerprintStream() {
            super(connection);
        }

        @Override
        protected Duration received(FingerprintResponse response) {
            hasAnswered = true;
            note(Fingerprint.of(response, clock.instant()));
            fingerprints.take(1);
            return Duration.ofNanos(fingerprints.nanosUntil(1, TokenBucket.nanos(clock.instant())));
        }

        @Override
        protected void ended(Status status) {
            end.complete(status);
        }
    }

    private void note(Fingerprint latest) {
        lock.lock();
        try {
            fingerprint = latest;
            awaited = true;
            told.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /**
     * Starts a task. When this fails, parts of it may run.
     *
     * @param timeout within which it has to run; a driver may fetch an image meanwhile
     */
    public StartTaskResponse startTask(TaskConfig task, Duration timeout) throws DriverFailure, InterruptedException {
        StartTaskRequest request = StartTaskRequest.newBuilder().setTask(task).build();
        StartTaskResponse response = started(request, timeout);
        if (!response.hasHandle()) {
            throw new DriverFailure("StartTask was answered without a handle, so the task could not be found again");
        }
        int kept = response.getHandle().getSerializedSize()
                + response.getNetworkOverride().getSerializedSize();
        int most = LONGEST_HANDLE + HANDLE_CONFIGS * task.getSerializedSize();
        if (kept > most) {
            destroyTask(task.getId(), LATE);
            throw new DriverFailure("StartTask was answered with a handle of " + (kept >> 10) + " KiB, of which "
                    + (most >> 10) + " are kept for this task; it was destroyed");
        }
        return response;
    }

    /**
     * Without a deadline of its own: a driver that is too late starts the task all the same, and whoever asked has begun anew by then. So
     * what comes too late is destroyed.
     */
    private StartTaskResponse started(StartTaskRequest request, Duration timeout)
            throws DriverFailure, InterruptedException {
        String taskId = request.getTask().getId();
        CompletableFuture<StartTaskResponse> answer = new CompletableFuture<>();
        begin("start " + name, () -> {
            try {
                if (!answer.complete(
                        DriverGrpc.newBlockingStub(connection.channel()).startTask(request))) {
                    LOG.warn("[{}] {} was started too late, and is destroyed", name, taskId);
                    destroyTask(taskId, LATE);
                }
            } catch (StatusRuntimeException e) {
                answer.completeExceptionally(e);
            } catch (DriverFailure e) {
                LOG.warn("[{}] {} was started too late, and could not be destroyed: {}", name, taskId, e.words());
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        StatusRuntimeException late = Status.DEADLINE_EXCEEDED.asRuntimeException();
        try {
            return answer.get(timeout.toNanos(), TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            if (!answer.completeExceptionally(late) && !answer.isCompletedExceptionally()) {
                // It came just now.
                return answer.join();
            }
            throw new DriverFailure("StartTask", late, timeout);
        } catch (ExecutionException e) {
            throw new DriverFailure(
                    "StartTask", e.getCause() instanceof StatusRuntimeException refused ? refused : late, timeout);
        } catch (InterruptedException e) {
            answer.completeExceptionally(late);
            throw e;
        }
    }

    /** Has it take up a task that another launch of it has started. */
    public void recoverTask(TaskHandle handle, Duration timeout) throws DriverFailure, InterruptedException {
        RecoverTaskRequest request = RecoverTaskRequest.newBuilder()
                .setTaskId(handle.getConfig().getId())
                .setHandle(handle)
                .build();
        call("RecoverTask", timeout, driver, stub -> stub.recoverTask(request));
    }

    /** What has become of a task. */
    public TaskState inspectTask(String taskId, Duration timeout) throws DriverFailure, InterruptedException {
        Optional<ExitResult> end = ends.getOrDefault(taskId, Optional.empty());
        if (end.isPresent()) {
            // Just after it, InspectTask of some drivers still says that the task runs.
            return new TaskState.Exited(end.get(), null);
        }
        try {
            TaskStatus status = call(
                            "InspectTask",
                            timeout,
                            driver,
                            stub -> stub.inspectTask(InspectTaskRequest.newBuilder()
                                    .setTaskId(taskId)
                                    .build()))
                    .getTask();
            return switch (status.getState()) {
                case RUNNING -> {
                    saidToRun.put(taskId, clock.instant());
                    yield new TaskState.Runs();
                }
                case EXITED ->
                    new TaskState.Exited(
                            status.getResult(), status.hasCompletedAt() ? instant(status.getCompletedAt()) : null);
                case UNKNOWN, UNRECOGNIZED -> new TaskState.NotKnown("InspectTask was answered with no state");
            };
        } catch (DriverFailure e) {
            if (e.isSilence() || e.isOverload()) {
                throw e;
            }
            // Each driver has words of its own for a task that it does not know.
            return new TaskState.NotKnown(e.words());
        }
    }

    /**
     * Whether the driver has said within this time that a task runs, and will say when it ends: its call of WaitTask is open. Asks nobody.
     */
    public boolean isKnownToRun(String taskId, Duration within) {
        Instant said = saidToRun.get(taskId);
        Optional<ExitResult> end = ends.get(taskId);
        if (said == null || end == null || end.isPresent()) {
            return false;
        }
        Duration since = Duration.between(said, clock.instant());
        return !since.isNegative() && since.compareTo(within) < 0;
    }

    /** The time that a driver says; null when it is none that a Timestamp may have. */
    private static @Nullable Instant instant(Timestamp timestamp) {
        return timestamp.getSeconds() < FIRST_SECOND || timestamp.getSeconds() > LAST_SECOND
                ? null
                : Instant.ofEpochSecond(timestamp.getSeconds(), timestamp.getNanos());
    }

    /**
     * Waits for the end of a task, in the background, unless that is done already. Before a stop it has to be: some drivers answer whoever
     * asks later with an error.
     *
     * @param ended called when it has ended, from any thread; not when the driver breaks the wait off
     */
    public void followTask(String taskId, Runnable ended) {
        listeners.put(taskId, ended);
        followTask(taskId);
    }

    /** The same for who need not be told. */
    public void followTask(String taskId) {
        if (ends.putIfAbsent(taskId, Optional.empty()) == null) {
            begin("wait " + name, () -> await(taskId));
        } else {
            tellOfEnd(taskId);
        }
    }

    private void tellOfEnd(String taskId) {
        if (ends.getOrDefault(taskId, Optional.empty()).isPresent()) {
            Runnable ended = listeners.remove(taskId);
            if (ended != null) {
                ended.run();
            }
        }
    }

    private void await(String taskId) {
        try {
            WaitTaskResponse response = driver.waitTask(
                    WaitTaskRequest.newBuilder().setTaskId(taskId).build());
            if (response.getErr().isEmpty() && response.hasResult()) {
                ExitResult said = response.getResult();
                // Kept for as long as the session, so without what else may be in it.
                ExitResult result = ExitResult.newBuilder()
                        .setExitCode(said.getExitCode())
                        .setSignal(said.getSignal())
                        .setOomKilled(said.getOomKilled())
                        .build();
                ends.put(taskId, Optional.of(result));
                tellOfEnd(taskId);
                return;
            }
            LOG.debug("[{}] WaitTask {}: {}", name, taskId, response.getErr());
            ends.remove(taskId);
            // Its executor may have been lost, which is an end. Not at once: a driver may answer so each time it is
            // asked.
            if (!closed.await(AFTER_ERROR.toMillis(), TimeUnit.MILLISECONDS)) {
                Runnable ended = listeners.get(taskId);
                if (ended != null) {
                    ended.run();
                }
            }
            return;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (StatusRuntimeException e) {
            LOG.debug("[{}] WaitTask {}: {}", name, taskId, e.getStatus());
        }
        // Nothing is known of its end: whoever looks next waits anew.
        ends.remove(taskId);
    }

    /** Asks a task to end, and kills it after a time; one that is not there is no error to most drivers. */
    public void stopTask(String taskId, Duration grace, String signal) throws DriverFailure, InterruptedException {
        StopTaskRequest request = StopTaskRequest.newBuilder()
                .setTaskId(taskId)
                .setTimeout(com.google.protobuf.Duration.newBuilder()
                        .setSeconds(grace.getSeconds())
                        .setNanos(grace.getNano()))
                .setSignal(signal)
                .build();
        call("StopTask", grace.plus(STOPPING), driver, stub -> stub.stopTask(request));
    }

    /** Has it forget a task, and remove what it left; also one that runs. */
    public void destroyTask(String taskId, Duration timeout) throws DriverFailure, InterruptedException {
        DestroyTaskRequest request =
                DestroyTaskRequest.newBuilder().setTaskId(taskId).setForce(true).build();
        ends.remove(taskId);
        listeners.remove(taskId);
        saidToRun.remove(taskId);
        call("DestroyTask", timeout, driver, stub -> stub.destroyTask(request));
    }

    /**
     * Has it make a network for an allocation, or tell of the one that it has made. When this fails, there may be one.
     *
     * @param hostname what those in it call themselves
     */
    public CreateNetworkResponse createNetwork(String allocation, String hostname, Duration timeout)
            throws DriverFailure, InterruptedException {
        CreateNetworkRequest request = CreateNetworkRequest.newBuilder()
                .setAllocId(allocation)
                .setHostname(hostname)
                .build();
        CreateNetworkResponse response = call("CreateNetwork", timeout, driver, stub -> stub.createNetwork(request));
        if (!response.hasIsolationSpec()) {
            throw new DriverFailure(
                    "CreateNetwork was answered without an isolation_spec, so no task could be put into the network");
        }
        return response;
    }

    /** Has it remove a network. */
    public void destroyNetwork(String allocation, NetworkIsolationSpec network, Duration timeout)
            throws DriverFailure, InterruptedException {
        DestroyNetworkRequest request = DestroyNetworkRequest.newBuilder()
                .setAllocId(allocation)
                .setIsolationSpec(network)
                .build();
        call("DestroyNetwork", timeout, driver, stub -> stub.destroyNetwork(request));
    }

    /** Commands and signals for its tasks. */
    public TaskAccess tasks() {
        return new TaskAccess(connection.channel());
    }

    /**
     * Tells it to end, and leaves its tasks alone.
     *
     * @param timeout of each of two calls, which never get more than 2 s
     */
    public void shutdown(Duration timeout) throws InterruptedException {
        ending = true;
        Duration each = Comparators.min(timeout, SHUTDOWN);
        try {
            call("Shutdown", each, driver, stub -> stub.shutdown(ShutdownRequest.getDefaultInstance()));
        } catch (DriverFailure e) {
            // It may be too old to know this call, or hang. What follows ends it all the same.
            LOG.debug("[{}] {}", name, e.words());
        }
        connection.shutdown(each);
    }

    static <S extends io.grpc.stub.AbstractStub<S>, T> T call(
            String what, Duration timeout, S stub, Function<S, T> call) throws DriverFailure, InterruptedException {
        if (Thread.interrupted()) {
            // The call would be cancelled, but its answer can be faster.
            throw new InterruptedException(what + " was interrupted");
        }
        try {
            return call.apply(stub.withDeadlineAfter(timeout.toNanos(), TimeUnit.NANOSECONDS));
        } catch (StatusRuntimeException e) {
            if (Thread.interrupted()) {
                throw new InterruptedException(what + " was interrupted");
            }
            throw new DriverFailure(what, e, timeout);
        }
    }

    @Override
    public void close() {
        closed.countDown();
        reading.cancel(Status.CANCELLED.asException());
        try {
            // Whoever still waits for an answer would complain about a connection that is gone.
            for (Thread thread : threads) {
                thread.join(CLOSING);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        connection.close();
    }
}
