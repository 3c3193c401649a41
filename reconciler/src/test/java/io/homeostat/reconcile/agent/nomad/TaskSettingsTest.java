package io.homeostat.reconcile.agent.nomad;

import static io.homeostat.reconcile.agent.nomad.NomadBench.flag;
import static io.homeostat.reconcile.agent.nomad.NomadBench.msgpack;
import static io.homeostat.reconcile.agent.nomad.NomadBench.text;
import static io.homeostat.reconcile.agent.nomad.NomadBench.texts;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.protobuf.ByteString;
import io.homeostat.reconcile.agent.nomad.TaskSettings.ProbeSettings;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.msgpack.value.Value;
import org.msgpack.value.ValueFactory;

/** Tests the configuration of a job and of a Nomad client, as it arrives in msgpack. */
class TaskSettingsTest {
    private static final Map<String, Value> LEAST = Map.of("entry_point", text("bin/web"));

    private static TaskSettings read(Map<String, Value> more) {
        Map<String, Value> all = new HashMap<>(LEAST);
        all.putAll(more);
        return TaskSettings.read(msgpack(all));
    }

    private static String refused(Map<String, Value> more) {
        return String.valueOf(
                assertThrows(IllegalArgumentException.class, () -> read(more)).getMessage());
    }

    private static Value map(String key, Value value) {
        return ValueFactory.newMap(ValueFactory.newString(key), value);
    }

    @Test
    void aTaskNeedsOnlyAnEntryPoint() {
        assertEquals(
                new TaskSettings(
                        "", "", "bin/web", ImmutableList.of(), ImmutableMap.of(), false, false, "", false, null),
                read(Map.of()));
    }

    @Test
    void everythingElseIsReadByItsKey() {
        TaskSettings settings = read(Map.of(
                "url", text("https://host/a"),
                "sha256", text("abc"),
                "arguments", texts("-v", "x"),
                "env", map("A", text("b")),
                "restart", flag(true),
                "plugin", flag(true),
                "config", text("c"),
                "cpu_hard_limit", flag(true)));

        assertEquals(
                new TaskSettings(
                        "https://host/a",
                        "abc",
                        "bin/web",
                        ImmutableList.of("-v", "x"),
                        ImmutableMap.of("A", "b"),
                        true,
                        true,
                        "c",
                        true,
                        null),
                settings);
    }

    @Test
    void nilIsAsIfItWereNotThere() {
        assertEquals(read(Map.of()), read(Map.of("url", ValueFactory.newNil(), "probe", ValueFactory.newNil())));
    }

    @Test
    void aProbeIsExactlyOneQuestion() {
        assertEquals(
                new ProbeSettings("http://a", "", ImmutableList.of(), ""),
                read(Map.of("probe", map("http", text("http://a")))).probe());
        assertEquals(
                new ProbeSettings("", "a:1", ImmutableList.of(), ""),
                read(Map.of("probe", map("tcp", text("a:1")))).probe());
        assertEquals(
                new ProbeSettings("", "", ImmutableList.of("a", "b"), ""),
                read(Map.of("probe", map("exec", texts("a", "b")))).probe());
        assertEquals(
                new ProbeSettings("", "", ImmutableList.of(), "a:1"),
                read(Map.of("probe", map("grpc", text("a:1")))).probe());
        assertNull(read(Map.of()).probe());

        assertTrue(refused(Map.of("probe", map("http", text("")))).startsWith("probe"));
        Value two = ValueFactory.newMap(text("http"), text("a"), text("tcp"), text("b"));
        assertTrue(refused(Map.of("probe", two)).startsWith("probe"));
    }

    @Test
    void aProgramIsVerifiedWhenItIsFetched() {
        assertTrue(refused(Map.of("url", text("https://host/a"))).contains("sha256"));
        assertTrue(refused(Map.of("sha256", text("abc"))).contains("url"));
    }

    @Test
    void onlyAPluginHasAConfigurationAndItHasNoProbe() {
        assertTrue(refused(Map.of("config", text("c"))).startsWith("config"));
        assertTrue(refused(Map.of("plugin", flag(true), "probe", map("tcp", text("a:1"))))
                .startsWith("probe"));
    }

    @ParameterizedTest
    @CsvSource({"url", "entry_point", "arguments", "env", "restart", "probe"})
    void aValueOfAnotherTypeIsNamed(String key) {
        assertTrue(refused(Map.of(key, ValueFactory.newInteger(1))).startsWith(key + " "));
    }

    @Test
    void partsOfAnotherTypeAreNamed() {
        assertTrue(refused(Map.of("arguments", ValueFactory.newArray(ValueFactory.newInteger(1))))
                .startsWith("arguments "));
        assertTrue(refused(Map.of("env", map("A", ValueFactory.newInteger(1)))).startsWith("env "));
    }

    @Test
    void aTaskWithoutAnEntryPointIsRefused() {
        assertThrows(IllegalArgumentException.class, () -> TaskSettings.read(ByteString.EMPTY));
        assertThrows(IllegalArgumentException.class, () -> TaskSettings.read(ByteString.copyFromUtf8("no msgpack")));
        assertThrows(
                IllegalArgumentException.class,
                () -> TaskSettings.read(ByteString.copyFrom(new byte[] {(byte) 0x81, 1, 2})));
        assertThrows(
                IllegalArgumentException.class, () -> TaskSettings.read(ByteString.copyFrom(new byte[] {(byte) 0x93})));
    }

    @Test
    void whatIsNestedTooDeepOrSaysThatItIsHugeIsRefused() {
        byte[] nested = new byte[2_000_000];
        Arrays.fill(nested, (byte) 0x91);
        nested[nested.length - 1] = 1;
        byte[] huge = {(byte) 0xdd, 127, -1, -1, -1, 1};

        for (byte[] config : List.of(nested, huge)) {
            String message = String.valueOf(
                    assertThrows(IllegalArgumentException.class, () -> TaskSettings.read(ByteString.copyFrom(config)))
                            .getMessage());
            assertTrue(message.startsWith("the configuration is no msgpack map: it "), message);
        }
    }

    @Test
    void theSchemaSaysWhichKeysThereAre() {
        io.homeostat.proto.nomad.hclspec.Object keys = TaskSettings.SPEC.getObject();

        assertTrue(keys.getAttributesOrThrow("entry_point").getAttr().getRequired());
        assertEquals(
                "string", keys.getAttributesOrThrow("entry_point").getAttr().getType());
        assertEquals(
                "list(string)", keys.getAttributesOrThrow("arguments").getAttr().getType());
        assertEquals(false, keys.getAttributesOrThrow("url").getAttr().getRequired());
        assertEquals(
                "false",
                keys.getAttributesOrThrow("restart")
                        .getDefault()
                        .getDefault()
                        .getLiteral()
                        .getValue());
        assertEquals(
                "restart",
                keys.getAttributesOrThrow("restart")
                        .getDefault()
                        .getPrimary()
                        .getAttr()
                        .getName());
        assertEquals("probe", keys.getAttributesOrThrow("probe").getBlockValue().getName());
        assertEquals(
                java.util.Set.of("http", "tcp", "exec", "grpc"),
                keys.getAttributesOrThrow("probe")
                        .getBlockValue()
                        .getNested()
                        .getObject()
                        .getAttributesMap()
                        .keySet());
        assertEquals(10, keys.getAttributesCount());
    }

    private static PluginSettings client(String key, String value) {
        return PluginSettings.read(msgpack(Map.of(key, text(value))));
    }

    @Test
    void aClientMayChooseDirectories() {
        assertEquals(PluginSettings.NONE, PluginSettings.read(ByteString.EMPTY));
        assertEquals(PluginSettings.NONE, client("state_dir", ""));
        assertEquals(
                Optional.of(Path.of("/a/c")), client("state_dir", "/a/b/../c").stateDir());
        assertEquals(Optional.of(Path.of("/r")), client("run_dir", "/r").runDir());
        assertEquals(Optional.of(Path.of("/f")), client("agent_config", "/f").agentConfig());
        assertEquals(
                java.util.Set.of("state_dir", "run_dir", "agent_config"),
                PluginSettings.SPEC.getObject().getAttributesMap().keySet());
    }

    @ParameterizedTest
    @ValueSource(strings = {"relative", "a\0b"})
    void aDirectoryIsAnAbsolutePath(String path) {
        IllegalArgumentException refused = assertThrows(IllegalArgumentException.class, () -> client("run_dir", path));

        assertTrue(String.valueOf(refused.getMessage()).startsWith("run_dir is "));
    }
}
