package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.dataformat.yaml.YAMLFactory;
import com.google.common.collect.Sets;
import com.google.protobuf.ByteString;
import io.grpc.stub.StreamObserver;
import io.homeostat.proto.nomad.base.ConfigSchemaRequest;
import io.homeostat.proto.nomad.base.SetConfigRequest;
import io.homeostat.proto.nomad.driver.DestroyTaskRequest;
import io.homeostat.proto.nomad.driver.DriverTaskEvent;
import io.homeostat.proto.nomad.driver.InitRequest;
import io.homeostat.proto.nomad.driver.InspectTaskRequest;
import io.homeostat.proto.nomad.driver.InspectTaskResponse;
import io.homeostat.proto.nomad.driver.RecoverTaskRequest;
import io.homeostat.proto.nomad.driver.SignalTaskRequest;
import io.homeostat.proto.nomad.driver.StartTaskRequest;
import io.homeostat.proto.nomad.driver.StopTaskRequest;
import io.homeostat.proto.nomad.driver.TaskConfig;
import io.homeostat.proto.nomad.driver.TaskConfigSchemaRequest;
import io.homeostat.proto.nomad.driver.TaskEventsRequest;
import io.homeostat.proto.nomad.driver.TaskHandle;
import io.homeostat.proto.nomad.driver.WaitTaskRequest;
import io.homeostat.proto.nomad.driver.WaitTaskResponse;
import io.homeostat.proto.nomad.hclspec.Spec;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.msgpack.value.Value;
import org.msgpack.value.ValueFactory;

/** {@code homeostat nomad-driver}, as a Nomad client has it: one state directory, launched as often as it takes. */
final class NomadPlugin implements AutoCloseable {
    private static final ObjectMapper YAML = new ObjectMapper(new YAMLFactory());
    private static final Pattern PID = Pattern.compile("\"pid\" ?: ?([0-9]+)");

    private final Homeostat homeostat;
    private final Path directory;
    private final DriverTasks tasks;
    private DriverProcess process;

    /** Launched, configured and initialized, with the state directory of this test. */
    NomadPlugin(Homeostat homeostat) {
        this.homeostat = homeostat;
        try {
            this.directory = Files.createDirectories(homeostat.directory().resolve("nomad"));
            this.tasks = new DriverTasks(Files.createDirectories(directory.resolve("alloc")));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        this.process = launch();
        initialize();
    }

    /** One that has said where it listens, and no more. */
    DriverProcess launch() {
        return DriverProcess.launch(directory, Distribution.program().toString(), "nomad-driver");
    }

    private void initialize() {
        var _ = process.base()
                .setConfig(SetConfigRequest.newBuilder()
                        .setMsgpackConfig(settings())
                        .build());
        var _ = process.driver().init(InitRequest.getDefaultInstance());
    }

    ByteString settings() {
        return converted(
                process.base()
                        .configSchema(ConfigSchemaRequest.getDefaultInstance())
                        .getSpec(),
                Map.of(
                        "state_dir", homeostat.stateDir().toString(),
                        "run_dir", homeostat.runDir().toString()));
    }

    /** As a Nomad client does it, as far as these schemas go: every key is there, what is left out is nil or its default. */
    static ByteString converted(Spec schema, Map<String, ?> config) {
        return DriverTasks.msgpack(value(schema, config));
    }

    private static Value value(Spec spec, Map<String, ?> config) {
        return switch (spec.getBlockCase()) {
            case OBJECT -> {
                Set<String> unknown = Sets.difference(
                        config.keySet(), spec.getObject().getAttributesMap().keySet());
                if (!unknown.isEmpty()) {
                    throw new IllegalArgumentException("not in the schema: " + unknown);
                }
                Map<Value, Value> all = new LinkedHashMap<>();
                new TreeMap<>(spec.getObject().getAttributesMap())
                        .forEach((key, each) -> all.put(ValueFactory.newString(key), value(each, config)));
                yield ValueFactory.newMap(all);
            }
            case ATTR -> {
                if (spec.getAttr().getRequired()
                        && !config.containsKey(spec.getAttr().getName())) {
                    throw new IllegalArgumentException(
                            "required: " + spec.getAttr().getName());
                }
                yield value(config.get(spec.getAttr().getName()));
            }
            case BLOCK_VALUE ->
                config.get(spec.getBlockValue().getName()) instanceof Map<?, ?> block
                        ? value(spec.getBlockValue().getNested(), named(block))
                        : ValueFactory.newNil();
            case DEFAULT -> {
                Value given = value(spec.getDefault().getPrimary(), config);
                yield given.isNilValue()
                        ? value(yaml(spec.getDefault().getDefault().getLiteral().getValue()))
                        : given;
            }
            default -> throw new IllegalArgumentException("not known here: " + spec.getBlockCase());
        };
    }

    private static Value value(@Nullable Object given) {
        return switch (given) {
            case null -> ValueFactory.newNil();
            case Boolean flag -> ValueFactory.newBoolean(flag);
            case Number number -> ValueFactory.newInteger(number.longValue());
            case List<?> list ->
                ValueFactory.newArray(list.stream().map(NomadPlugin::value).toList());
            case Map<?, ?> map -> {
                Map<Value, Value> all = new LinkedHashMap<>();
                new TreeMap<>(named(map)).forEach((key, each) -> all.put(ValueFactory.newString(key), value(each)));
                yield ValueFactory.newMap(all);
            }
            default -> ValueFactory.newString(given.toString());
        };
    }

    private static Map<String, Object> named(Map<?, ?> map) {
        Map<String, Object> named = new LinkedHashMap<>();
        map.forEach((key, each) -> named.put(key.toString(), each));
        return named;
    }

    /** What an expression of HCL without any reference is: but for {@code =} in objects, as YAML has it. */
    static Object yaml(String expression) {
        try {
            return YAML.readValue(expression.replace(" = ", ": "), Object.class);
        } catch (JsonProcessingException e) {
            throw new IllegalArgumentException(expression, e);
        }
    }

    DriverProcess process() {
        return process;
    }

    /** kill -9, and another launch. */
    void crash() {
        process.close();
        process = launch();
        initialize();
    }

    /** A task with this configuration, converted as Nomad does it. */
    TaskConfig task(Map<String, ?> config) {
        Spec schema = process.driver()
                .taskConfigSchema(TaskConfigSchemaRequest.getDefaultInstance())
                .getSpec();
        return tasks.task().setMsgpackDriverConfig(converted(schema, config)).build();
    }

    /** One that runs a script. */
    TaskConfig script(String script) {
        return task(Map.of("entry_point", "/bin/sh", "arguments", List.of("-c", script)));
    }

    TaskHandle start(TaskConfig task) {
        return process.driver()
                .startTask(StartTaskRequest.newBuilder().setTask(task).build())
                .getHandle();
    }

    WaitTaskResponse await(TaskConfig task) {
        return process.driver()
                .waitTask(WaitTaskRequest.newBuilder().setTaskId(task.getId()).build());
    }

    InspectTaskResponse inspect(TaskConfig task) {
        return process.driver()
                .inspectTask(
                        InspectTaskRequest.newBuilder().setTaskId(task.getId()).build());
    }

    void recover(TaskHandle handle) {
        var _ = process.driver()
                .recoverTask(RecoverTaskRequest.newBuilder().setHandle(handle).build());
    }

    void stop(String id, int seconds, String signal) {
        var _ = process.driver()
                .stopTask(StopTaskRequest.newBuilder()
                        .setTaskId(id)
                        .setTimeout(DriverProcess.seconds(seconds))
                        .setSignal(signal)
                        .build());
    }

    void destroy(String id, boolean force) {
        var _ = process.driver()
                .destroyTask(DestroyTaskRequest.newBuilder()
                        .setTaskId(id)
                        .setForce(force)
                        .build());
    }

    void signal(TaskConfig task, String signal) {
        var _ = process.driver()
                .signalTask(SignalTaskRequest.newBuilder()
                        .setTaskId(task.getId())
                        .setSignal(signal)
                        .build());
    }

    /** What it tells from now on. */
    BlockingQueue<DriverTaskEvent> events() {
        BlockingQueue<DriverTaskEvent> events = new LinkedBlockingQueue<>();
        process.streams().taskEvents(TaskEventsRequest.getDefaultInstance(), new StreamObserver<>() {
            @Override
            public void onNext(DriverTaskEvent event) {
                events.add(event);
            }

            @Override
            public void onError(Throwable error) {
                // The driver has ended.
            }

            @Override
            public void onCompleted() {
                // It never does.
            }
        });
        return events;
    }

    String workload(TaskConfig task) {
        return inspect(task).getDriver().getAttributesOrThrow("workload");
    }

    /** What the task's process runs as now. */
    long pid(TaskConfig task) {
        return homeostat.pid(workload(task));
    }

    /** The agent that it has started, or another one that runs on the state directory now. */
    long agent() {
        eventually().until(() -> Files.exists(homeostat.stateDir().resolve("agent")));
        return noted(homeostat);
    }

    private static long noted(Homeostat homeostat) {
        try {
            Matcher pid = PID.matcher(Files.readString(homeostat.stateDir().resolve("agent")));
            return pid.find() ? Long.parseLong(pid.group(1)) : 0;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Ends the driver and its agent; tasks have been destroyed by then. */
    @Override
    public void close() {
        process.close();
        endAgent(homeostat);
    }

    /** Ends the agent that a driver has started in a state directory. */
    static void endAgent(Homeostat homeostat) {
        if (Files.exists(homeostat.stateDir().resolve("agent"))) {
            long agent = noted(homeostat);
            if (Processes.isAlive(agent)
                    && Processes.command(agent).contains(homeostat.stateDir().toString())) {
                Processes.signal("TERM", agent);
                eventually().until(() -> !Processes.isAlive(agent));
            }
        }
    }
}
