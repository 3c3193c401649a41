package io.homeostat.reconcile.agent.nomad;

import com.google.protobuf.ByteString;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.proto.nomad.driver.DriverTaskEvent;
import io.homeostat.proto.nomad.driver.TaskConfig;
import io.homeostat.reconcile.agent.frontend.FakeAgent;
import io.homeostat.reconcile.agent.frontend.WorkloadLook;
import io.homeostat.reconcile.agent.frontend.WorkloadLook.End;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.BiPredicate;
import org.jspecify.annotations.Nullable;
import org.msgpack.core.MessageBufferPacker;
import org.msgpack.core.MessagePack;
import org.msgpack.value.Value;
import org.msgpack.value.ValueFactory;

/** The tasks of a Nomad client on a {@link FakeAgent}, with a clock that stands still and signals that go nowhere. */
final class NomadBench {
    static final Instant NOW = Instant.parse("2026-11-20T12:00:00Z");
    static final Instant STARTED = NOW.minusSeconds(5);
    static final String ID = "alloc/web/0001";
    static final ProcessIdentity PROCESS = new ProcessIdentity(1L << 40, 7, "boot");

    final FakeAgent agent;
    final TaskEvents events;
    final FakeCall<DriverTaskEvent> listener = new FakeCall<>();
    final HostLog log;
    final NomadTasks tasks;

    /** The signals that were sent, by number. */
    final List<Integer> signals = new CopyOnWriteArrayList<>();

    volatile Instant now = NOW;

    /** Decides whether a process is there to receive a signal. */
    volatile BiPredicate<ProcessIdentity, Integer> process = (identity, signal) -> true;

    volatile boolean signalsFail;
    private final ByteArrayOutputStream said = new ByteArrayOutputStream();

    NomadBench(Path root) throws IOException {
        this(root, Duration.ofSeconds(30));
    }

    /** @param leeway what a stop may take longer than the task has been given: waited for in full where nothing ends */
    NomadBench(Path root, Duration leeway) throws IOException {
        Layout layout = new Layout(Files.createDirectories(root.resolve("s")), root.resolve("r"), "i");
        agent = new FakeAgent(layout);
        agent.onWithdraw(workload -> agent.remove(WorkloadId.parse(workload).orElseThrow()));
        events = new TaskEvents(() -> now);
        events.listen(listener);
        log = new HostLog(new PrintStream(said, true, StandardCharsets.UTF_8), () -> now);
        NomadTasks.Times times =
                new NomadTasks.Times(Duration.ofMillis(1), Duration.ofMillis(1), leeway, Duration.ofMillis(20));
        tasks = new NomadTasks(agent, events, log, () -> now, this::send, times);
    }

    private boolean send(ProcessIdentity identity, int signal) throws IOException {
        if (signalsFail) {
            throw new IOException("no signal");
        }
        signals.add(signal);
        return process.test(identity, signal);
    }

    String said() {
        return said.toString(StandardCharsets.UTF_8);
    }

    static ByteString msgpack(Map<String, Value> values) {
        try (MessageBufferPacker packer = MessagePack.newDefaultBufferPacker()) {
            ValueFactory.MapBuilder map = ValueFactory.newMapBuilder();
            values.forEach((key, value) -> map.put(ValueFactory.newString(key), value));
            packer.packValue(map.build());
            return ByteString.copyFrom(packer.toByteArray());
        } catch (IOException e) {
            throw new IllegalStateException("memory can't be written", e);
        }
    }

    static Value text(String text) {
        return ValueFactory.newString(text);
    }

    static Value texts(String... all) {
        return ValueFactory.newArray(
                java.util.Arrays.stream(all).map(ValueFactory::newString).toList());
    }

    static Value flag(boolean value) {
        return ValueFactory.newBoolean(value);
    }

    /** A task with only what it needs. */
    static TaskConfig config() {
        return config(ID, Map.of("entry_point", text("bin/web")));
    }

    static TaskConfig plugin() {
        return config(ID, Map.of("entry_point", text("bin/web"), "plugin", flag(true)));
    }

    static TaskConfig config(String id, Map<String, Value> settings) {
        return TaskConfig.newBuilder()
                .setId(id)
                .setName("web")
                .setAllocId("alloc")
                .setAllocDir("/alloc")
                .setMsgpackDriverConfig(msgpack(settings))
                .build();
    }

    static WorkloadId workload() {
        return TaskDocument.workload(ID, false);
    }

    WorkloadLook look(
            boolean over, @Nullable ProcessIdentity running, @Nullable End end, boolean fatal, String problem) {
        return new WorkloadLook(
                workload(),
                true,
                over,
                running,
                running == null ? null : STARTED,
                end,
                fatal,
                problem,
                0,
                agent.layout().stateDir().resolve("log"));
    }

    WorkloadLook running() {
        return look(false, PROCESS, null, false, "");
    }

    /** A look at a task that is declared and has no process yet. */
    WorkloadLook pending() {
        return look(false, null, null, false, "");
    }

    WorkloadLook ended(End end) {
        return look(true, null, end, false, "");
    }

    static End exit(int code) {
        return new End(code, 0, Exit.Reason.EXITED.name(), NOW);
    }

    static WorkloadLook of(WorkloadLook look, WorkloadId id) {
        return new WorkloadLook(
                id,
                look.known(),
                look.over(),
                look.process(),
                look.startedAt(),
                look.end(),
                look.fatal(),
                look.problem(),
                look.restarts(),
                look.log());
    }

    static WorkloadLook restarted(WorkloadLook look, int times, @Nullable End end) {
        return new WorkloadLook(
                look.workload(),
                true,
                look.over(),
                look.process(),
                look.startedAt(),
                end,
                look.fatal(),
                look.problem(),
                times,
                look.log());
    }

    /** A task that was declared and runs. */
    DrivenTask start() throws InterruptedException {
        agent.on("declare", () -> agent.change(running()));
        DrivenTask task = tasks.start(config());
        agent.on("declare", () -> {});
        agent.calls().clear();
        return task;
    }

    /** Says that Nomad was told of the end of the task. */
    Path mark() {
        return agent.layout()
                .stateDir()
                .resolve("nomad-driver")
                .resolve(workload().name() + ".told");
    }
}
