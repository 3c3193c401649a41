package io.homeostat.e2e;

import com.google.protobuf.ByteString;
import io.homeostat.proto.nomad.driver.TaskConfig;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.msgpack.core.MessageBufferPacker;
import org.msgpack.core.MessagePack;
import org.msgpack.value.Value;
import org.msgpack.value.ValueFactory;

/** Tasks for a driver, with the directories and files that its host prepares. */
final class DriverTasks {
    private static final int SUFFIX = 8;
    private final Path allocations;

    DriverTasks(Path allocations) {
        this.allocations = allocations;
    }

    /** A task named {@code web} in an allocation of its own. Nothing of it is configured for the driver yet. */
    TaskConfig.Builder task() {
        String allocation = UUID.randomUUID().toString();
        Path directory = allocations.resolve(allocation);
        try {
            Files.createDirectories(directory.resolve("alloc/logs"));
            Files.createDirectories(directory.resolve("web/local"));
            return TaskConfig.newBuilder()
                    .setId(allocation + "/web/" + UUID.randomUUID().toString().substring(0, SUFFIX))
                    .setName("web")
                    .setAllocId(allocation)
                    .setAllocDir(directory.toString())
                    .setStdoutPath(Files.createFile(directory.resolve("alloc/logs/out"))
                            .toString())
                    .setStderrPath(Files.createFile(directory.resolve("alloc/logs/err"))
                            .toString())
                    .putEnv("PATH", "/usr/local/bin:/usr/bin:/bin");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** One for the sample driver that runs a script, misbehaving as told. */
    TaskConfig.Builder script(String script, String... faults) {
        return task().setMsgpackDriverConfig(config(script, faults));
    }

    static ByteString config(String script, String... faults) {
        Map<Value, Value> config = new LinkedHashMap<>();
        config.put(ValueFactory.newString("args"), strings("-c", script));
        config.put(ValueFactory.newString("command"), ValueFactory.newString("/bin/sh"));
        config.put(ValueFactory.newString("faults"), strings(faults));
        config.put(
                ValueFactory.newString("labels"),
                ValueFactory.newMap(ValueFactory.newString("tier"), ValueFactory.newString("front")));
        config.put(
                ValueFactory.newString("limits_hint"),
                ValueFactory.newMap(ValueFactory.newString("nice"), ValueFactory.newInteger(5)));
        return msgpack(ValueFactory.newMap(config));
    }

    static Value strings(String... strings) {
        List<Value> values = new ArrayList<>();
        for (String string : strings) {
            values.add(ValueFactory.newString(string));
        }
        return ValueFactory.newArray(values);
    }

    static ByteString msgpack(Value value) {
        try (MessageBufferPacker packer = MessagePack.newDefaultBufferPacker()) {
            packer.packValue(value);
            return ByteString.copyFrom(packer.toByteArray());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static Path directory(TaskConfig task) {
        return Path.of(task.getAllocDir(), task.getName());
    }

    static String stdout(TaskConfig task) {
        try {
            return Files.readString(Path.of(task.getStdoutPath()));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
