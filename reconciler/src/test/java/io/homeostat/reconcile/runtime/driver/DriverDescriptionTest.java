package io.homeostat.reconcile.runtime.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.google.common.collect.ImmutableList;
import io.homeostat.observe.SelfDescription;
import io.homeostat.observe.driver.DriverSession;
import io.homeostat.observe.driver.Fingerprint;
import io.homeostat.observe.driver.Fingerprint.Attribute;
import io.homeostat.proto.nomad.driver.DriverCapabilities;
import io.homeostat.proto.nomad.driver.DriverCapabilities.FSIsolation;
import io.homeostat.proto.nomad.driver.DriverCapabilities.MountConfigs;
import io.homeostat.proto.nomad.driver.NetworkIsolationSpec.NetworkIsolationMode;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Tests the description of a driver, for programs and for people. */
class DriverDescriptionTest {
    private static final DriverSession.Info PLUGIN = new DriverSession.Info("runner", "1.2.3", "v0.1.0");

    private static final Fingerprint FINGERPRINT = new Fingerprint(
            Fingerprint.State.UNHEALTHY,
            "no socket",
            ImmutableList.of(new Attribute("driver.a", "1", "MiB"), new Attribute("driver.long", "x", "")),
            3,
            Instant.EPOCH);

    private static final DriverCapabilities ALL = DriverCapabilities.newBuilder()
            .setSendSignals(true)
            .setExec(true)
            .setFsIsolation(FSIsolation.IMAGE)
            .addNetworkIsolationModes(NetworkIsolationMode.GROUP)
            .addNetworkIsolationModes(NetworkIsolationMode.HOST)
            .addNetworkIsolationModes(NetworkIsolationMode.GROUP)
            .setMustCreateNetwork(true)
            .setMountConfigs(MountConfigs.ANY_MOUNTS)
            .setDynamicWorkloadUsers(true)
            .setDisableLogCollection(true)
            .build();

    private static SelfDescription describe(DriverCapabilities capabilities) {
        return DriverDescription.of(PLUGIN, FINGERPRINT, capabilities);
    }

    private static List<String> lines(DriverCapabilities capabilities) {
        return describe(capabilities).sections().getFirst().lines();
    }

    /** The line of that name; empty when there is none. */
    private static String line(DriverCapabilities capabilities, String name) {
        return lines(capabilities).stream()
                .filter(line -> line.startsWith(name + " "))
                .findFirst()
                .orElse("");
    }

    @Test
    void programsFindEachCapability() {
        JsonNode can = describe(ALL).json().path("capabilities");
        assertTrue(can.path("signals").asBoolean());
        assertTrue(can.path("exec").asBoolean());
        assertEquals("image", can.path("fileSystem").asText());
        assertTrue(can.path("makesNetworks").asBoolean());
        assertTrue(can.path("mounts").asBoolean());
        assertTrue(can.path("users").asBoolean());
        assertFalse(can.path("logs").asBoolean());
        assertEquals("[\"group\",\"host\"]", can.path("networks").toString());

        JsonNode cannot = describe(DriverCapabilities.newBuilder()
                        .setMountConfigs(MountConfigs.NO_MOUNTS)
                        .build())
                .json()
                .path("capabilities");
        assertFalse(cannot.path("signals").asBoolean());
        assertFalse(cannot.path("exec").asBoolean());
        assertEquals("none", cannot.path("fileSystem").asText());
        assertFalse(cannot.path("makesNetworks").asBoolean());
        assertFalse(cannot.path("mounts").asBoolean());
        assertFalse(cannot.path("users").asBoolean());
        assertTrue(cannot.path("logs").asBoolean());
        assertEquals("[]", cannot.path("networks").toString());
    }

    @Test
    void programsFindWhoItIsAndHowItIs() {
        JsonNode json = describe(ALL).json();

        assertEquals("runner", json.path("plugin").path("name").asText());
        assertEquals("1.2.3", json.path("plugin").path("version").asText());
        assertEquals("v0.1.0", json.path("plugin").path("apiVersion").asText());
        assertEquals("unhealthy", json.path("health").path("state").asText());
        assertEquals("no socket", json.path("health").path("description").asText());
        assertEquals("1970-01-01T00:00:00Z", json.path("health").path("toldAt").asText());
        assertEquals("driver.a", json.path("attributes").path(0).path("name").asText());
        assertEquals("1", json.path("attributes").path(0).path("value").asText());
        assertEquals("MiB", json.path("attributes").path(0).path("unit").asText());
        assertEquals(3, json.path("attributesLeftOut").asInt());
    }

    @Test
    void peopleReadALineForEachThing() {
        DriverCapabilities none = DriverCapabilities.newBuilder()
                .setMountConfigs(MountConfigs.NO_MOUNTS)
                .build();

        for (String name : List.of("signals", "commands", "mounts", "networks", "file system")) {
            assertFalse(line(ALL, name).isEmpty(), name);
            assertFalse(line(none, name).isEmpty(), name);
            assertFalse(line(ALL, name).equals(line(none, name)), name);
        }
        assertFalse(line(ALL, "users").isEmpty());
        assertFalse(line(ALL, "output").isEmpty());
        assertTrue(line(none, "users").isEmpty());
        assertTrue(line(none, "output").isEmpty());
        assertTrue(line(ALL, "networks").contains("group, host"));
        assertTrue(line(ALL, "plugin").contains("1.2.3"));
        assertTrue(line(ALL, "health").contains("no socket"));
    }

    @ParameterizedTest
    @EnumSource(
            value = FSIsolation.class,
            names = {"NONE", "CHROOT", "IMAGE", "UNVEIL"})
    void peopleReadWhichFileSystemATaskHas(FSIsolation isolation) {
        String line =
                line(DriverCapabilities.newBuilder().setFsIsolation(isolation).build(), "file system");

        long others = java.util.Arrays.stream(FSIsolation.values())
                .filter(other -> other != isolation && other != FSIsolation.UNRECOGNIZED)
                .filter(other -> line.equals(line(
                        DriverCapabilities.newBuilder().setFsIsolation(other).build(), "file system")))
                .count();
        assertEquals(0, others);
    }

    @Test
    void anIsolationThatIsNotKnownIsNoError() {
        assertFalse(line(DriverCapabilities.newBuilder().setFsIsolationValue(99).build(), "file system")
                .isEmpty());
    }

    @Test
    void peopleReadAttributesInColumns() {
        assertEquals(
                List.of("driver.a     1 MiB", "driver.long  x", "and 3 more"),
                describe(ALL).sections().getLast().lines());

        Fingerprint without = new Fingerprint(Fingerprint.State.HEALTHY, "", ImmutableList.of(), 0, Instant.EPOCH);
        assertEquals(
                List.of(),
                DriverDescription.of(PLUGIN, without, ALL).sections().getLast().lines());
    }

    @Test
    void aDriverThatCouldNotBeAskedHasAProblem() {
        SelfDescription unknown = DriverDescription.unknown("not running");

        assertEquals("driver", unknown.name());
        assertEquals("not running", unknown.json().path("problem").asText());
        assertEquals(List.of("not running"), unknown.sections().getFirst().lines());
    }
}
