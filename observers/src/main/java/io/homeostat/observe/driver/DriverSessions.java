package io.homeostat.observe.driver;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.collect.ImmutableList;
import io.homeostat.desired.platform.GrpcTransport;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.Instance;
import io.homeostat.observe.driver.StatisticsCrashes.OfDriver;
import io.homeostat.observe.driver.TaskEventReader.Taken;
import io.homeostat.observe.files.UserSockets;
import io.homeostat.observe.goplugin.Handshake;
import io.homeostat.observe.goplugin.PluginConnection;
import io.homeostat.observe.process.LaunchDirectory;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.observe.process.ThreadWaker;
import io.homeostat.proto.goplugin.StdioData;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The sessions with all drivers that run on this machine, one for each launch. */
public final class DriverSessions implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(DriverSessions.class);

    private final Layout layout;
    private final ProcFs procFs;
    private final InstantSource clock;
    private final boolean adopts;
    private final GrpcTransport transport = new GrpcTransport(UserSockets::find, ThreadWaker::ofThisThread);
    private final Map<String, DriverSession> sessions = new ConcurrentHashMap<>();
    private final StatisticsCrashes crashes;
    private final Map<String, OfDriver> statistics = new ConcurrentHashMap<>();
    private final Map<String, TaskEventReader> events = new ConcurrentHashMap<>();
    private volatile boolean hearing;

    /** Who writes down what must not be forgotten: observers change no file. */
    @FunctionalInterface
    public interface Notes {
        /** A reader finds the former content or all of the new one. */
        void replace(Path file, byte[] content) throws IOException;
    }

    /** @param adopts whether drivers that were set up by an earlier agent are initialized, which is for whoever will look after them */
    public DriverSessions(Layout layout, ProcFs procFs, InstantSource clock, boolean adopts, Notes notes) {
        this.adopts = adopts;
        this.layout = layout;
        this.procFs = procFs;
        this.clock = clock;
        this.crashes = new StatisticsCrashes(layout, notes, Ticker.systemTicker());
    }

    /** What a launch has printed as its handshake; empty when it has printed no whole line yet. */
    public Optional<String> handshakeLine(Instance instance) throws IOException {
        return Handshake.line(directory(instance).outputFile());
    }

    /**
     * The session with a launch, which is opened when there is none.
     *
     * @throws Handshake.Refused when it is no driver that we can speak with, or has printed no handshake
     */
    public DriverSession of(Instance instance) throws Handshake.Refused, IOException {
        DriverSession known = sessions.get(instance.launchId());
        if (known != null) {
            return known;
        }
        Handshake handshake = handshake(instance);
        String name = instance.workload().brief();
        PluginConnection connection = new PluginConnection(
                transport,
                handshake,
                layout.driverSockets(instance.workload()),
                (channel, bytes) -> printed(name, channel, bytes));
        DriverSession opened = new DriverSession(name, connection, () -> runs(instance), clock, adopts);
        directory(instance).pluginName().ifPresent(opened::expect);
        DriverSession before = sessions.putIfAbsent(instance.launchId(), opened);
        if (before != null) {
            opened.close();
            return before;
        }
        return opened;
    }

    /**
     * What a driver counts of a task, read from now on until that is closed; empty when there is no session with the launch yet. Never
     * waits.
     *
     * @param interval after which the driver is to say it again
     */
    public Optional<TaskStatistics> statistics(Instance instance, String taskId, Duration interval) {
        DriverSession known = sessions.get(instance.launchId());
        if (known == null) {
            return Optional.empty();
        }
        OfDriver count = statistics.computeIfAbsent(instance.launchId(), id -> crashes.of(instance));
        return Optional.of(new TaskStatistics(known, count, taskId, interval, Ticker.systemTicker()));
    }

    /** Somebody takes what drivers tell of their tasks from now on. */
    public void hearEvents() {
        hearing = true;
    }

    /** Begins to read what a launch that was set up tells of its tasks, unless that is done already. */
    public void hear(Instance instance) {
        DriverSession known = sessions.get(instance.launchId());
        if (hearing && known != null && known.isSetUp() && !events.containsKey(instance.launchId())) {
            TaskEventReader reader = new TaskEventReader(instance.workload().name(), known);
            if (events.putIfAbsent(instance.launchId(), reader) == null) {
                reader.open();
            }
        }
    }

    /** What drivers have told of their tasks since the last time. */
    public ImmutableList<Taken> takeEvents() {
        return events.values().stream().map(TaskEventReader::take).collect(ImmutableList.toImmutableList());
    }

    /** The session with a launch, if there is one. */
    public Optional<DriverSession> known(Instance instance) {
        return Optional.ofNullable(sessions.get(instance.launchId()));
    }

    /** Whether a launch can still be reached by whoever has no connection yet; true when nobody knows where it listens. */
    public boolean isReachable(Instance instance) throws IOException {
        try {
            Handshake handshake = handshake(instance);
            return handshake.network() != Handshake.Network.UNIX
                    || Files.exists(Path.of(handshake.address()), LinkOption.NOFOLLOW_LINKS);
        } catch (Handshake.Refused e) {
            return true;
        }
    }

    /** The unix socket of a launch; null when it has none that is known. */
    public @Nullable Path socket(Instance instance) throws IOException {
        try {
            Handshake handshake = handshake(instance);
            return handshake.network() == Handshake.Network.UNIX ? Path.of(handshake.address()) : null;
        } catch (Handshake.Refused e) {
            return null;
        }
    }

    private Handshake handshake(Instance instance) throws Handshake.Refused, IOException {
        return Handshake.parse(handshakeLine(instance).orElse(""), DriverSession.HOST.versions());
    }

    /** Ends the session with a launch that has ended. */
    public void forget(String launchId) {
        statistics.remove(launchId);
        TaskEventReader reader = events.remove(launchId);
        if (reader != null) {
            reader.close();
        }
        DriverSession session = sessions.remove(launchId);
        if (session != null) {
            session.close();
        }
    }

    /** Ends the sessions with launches that have ended by themselves, of which nobody else is told. */
    public void forgetEnded() {
        sessions.forEach((launchId, session) -> {
            if (!session.isAlive()) {
                forget(launchId);
            }
        });
    }

    /** The process of a launch; null when it has not identified itself. */
    public @Nullable ProcessIdentity process(Instance instance) throws IOException {
        ProcessIdentity known = instance.process();
        return known != null
                ? known
                : directory(instance).born().map(LaunchDirectory.Born::identity).orElse(null);
    }

    /** What can't be seen may run. */
    private boolean runs(Instance instance) {
        try {
            ProcessIdentity process = process(instance);
            return process != null && procFs.runs(process);
        } catch (IOException e) {
            LOG.debug(
                    "[{}] whether it runs can't be seen: {}",
                    instance.workload().brief(),
                    e.getMessage());
            return true;
        }
    }

    /** The starts of tasks that a launch has failed since the last one that it has not, the newest last. */
    ImmutableList<FailedStart> failedStarts(Instance instance) throws IOException {
        return FailedStart.of(directory(instance));
    }

    private LaunchDirectory directory(Instance instance) {
        return new LaunchDirectory(layout.launch(instance.workload(), instance.launchId()));
    }

    private static void printed(String name, StdioData.Channel channel, byte[] bytes) {
        if (LOG.isDebugEnabled()) {
            new String(bytes, StandardCharsets.UTF_8)
                    .lines()
                    .forEach(line -> LOG.debug("[{}] printed to {}: {}", name, channel, line));
        }
    }

    @Override
    public void close() {
        sessions.keySet().forEach(this::forget);
        transport.close();
    }
}
