package io.homeostat.e2e;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import io.homeostat.proto.nomad.base.ConfigSchemaRequest;
import io.homeostat.proto.nomad.driver.TaskConfigSchemaRequest;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.msgpack.core.MessagePack;
import org.msgpack.value.MapValue;
import org.msgpack.value.Value;
import org.msgpack.value.ValueFactory;

/** What docs/nomad-drivers.md shows a Nomad client, word for word: the file of plugin_dir is run, and both configurations fit the driver's schemas. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class NomadClientExampleTest {
    private static final Pattern ATTRIBUTE = Pattern.compile("^ *([a-z0-9_]+) *= (.*)$");
    private static final Pattern BLOCK = Pattern.compile("^ *([a-z]+) \\{$");

    @TempDir
    static Path directory;

    private String script;
    private String plugin;
    private String job;

    @BeforeAll
    void read() {
        DocPage page = DocPage.named("docs/nomad-drivers.md");
        List<String> configurations = page.blocks().stream()
                .filter(block -> block.language().equals("hcl"))
                .map(DocPage.Block::text)
                .toList();
        assertEquals(2, configurations.size(), configurations::toString);
        script = page.fileShown("homeostat-driver");
        plugin = configurations.get(0);
        job = configurations.get(1);
    }

    @Test
    void itFitsTheDriver() throws IOException {
        Path file = Files.writeString(
                directory.resolve("homeostat-driver"),
                script.replace(
                        "/opt/homeostat/bin/homeostat", Distribution.program().toString()));
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"));
        assertTrue(plugin.contains("plugin \"" + file.getFileName() + "\""), plugin);

        Path sockets = Files.createTempDirectory("hs");
        try (DriverProcess driver = DriverProcess.launch(sockets, file.toString())) {
            MapValue settings = map(NomadPlugin.converted(
                    driver.base()
                            .configSchema(ConfigSchemaRequest.getDefaultInstance())
                            .getSpec(),
                    config(plugin)));
            assertEquals("/var/lib/homeostat-nomad", text(settings, "state_dir"));
            MapValue task = map(NomadPlugin.converted(
                    driver.driver()
                            .taskConfigSchema(TaskConfigSchemaRequest.getDefaultInstance())
                            .getSpec(),
                    config(job)));
            assertEquals("bin/web", text(task, "entry_point"));
            assertEquals("[\"-p\",\"8080\"]", text(task, "arguments"));
            assertEquals("{\"COLOUR\":\"blue\"}", text(task, "env"));
            assertEquals("true", text(task, "restart"));
            assertTrue(text(task, "probe").contains("http://127.0.0.1:8080/healthy"), task::toJson);
        } finally {
            Trees.delete(sockets);
        }
    }

    /** The attributes of the block {@code config}, and of blocks in it: expressions of HCL. */
    private static Map<String, ?> config(String hcl) {
        Map<String, Object> config = new HashMap<>();
        Map<String, Object> block = config;
        int depth = 0;
        for (String line : hcl.split("\n", -1)) {
            Matcher begin = BLOCK.matcher(line);
            Matcher attribute = ATTRIBUTE.matcher(line);
            if (depth == 0) {
                depth = begin.matches() && begin.group(1).equals("config") ? 1 : 0;
            } else if (begin.matches()) {
                depth++;
                block = new HashMap<>();
                config.put(begin.group(1), block);
            } else if (attribute.matches()) {
                block.put(attribute.group(1), NomadPlugin.yaml(attribute.group(2)));
            } else if (line.strip().equals("}")) {
                depth--;
                if (depth == 0) {
                    return config;
                }
                block = config;
            }
        }
        throw new IllegalArgumentException("no block config that ends in\n" + hcl);
    }

    private static MapValue map(ByteString msgpack) throws IOException {
        try (var unpacker = MessagePack.newDefaultUnpacker(msgpack.toByteArray())) {
            return unpacker.unpackValue().asMapValue();
        }
    }

    private static String text(MapValue map, String key) {
        Value value = Objects.requireNonNull(map.map().get(ValueFactory.newString(key)), key);
        return value.isStringValue() ? value.asStringValue().asString() : value.toJson();
    }
}
