package io.homeostat.reconcile.agent.guest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.protobuf.TextFormat;
import io.homeostat.proto.kata.LinuxResources;
import io.homeostat.proto.kata.Process;
import io.homeostat.proto.kata.Spec;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

/** The fields of a request, under their names in the specification of the Open Container Initiative. */
class OciJsonFieldsTest {
    private static final GuestPaths PATHS = new GuestPaths(Path.of("/state/guest"));

    private static JsonNode config(String text) throws TextFormat.ParseException, JsonProcessingException {
        return parsed(OciJson.config(
                        TextFormat.parse(text, Spec.class), PATHS, "/groups/a", Path.of("/ns/ipc"), Path.of("/ns/uts"))
                .toString());
    }

    private static JsonNode parsed(String json) throws JsonProcessingException {
        return new ObjectMapper().readTree(json);
    }

    /** Fields apart from those that every configuration has. */
    private static void assertLinux(String expected, String text)
            throws TextFormat.ParseException, JsonProcessingException {
        JsonNode linux = config("Linux { " + text + " }").path("linux");
        parsed(expected).properties().forEach(field -> assertEquals(field.getValue(), linux.path(field.getKey())));
    }

    private static void assertResources(String expected, String text)
            throws TextFormat.ParseException, JsonProcessingException {
        assertEquals(
                parsed(expected),
                parsed(OciJson.resources(TextFormat.parse(text, LinuxResources.class))
                        .toString()));
    }

    @Test
    void aProcessHasAllItsFields() throws TextFormat.ParseException, JsonProcessingException {
        assertEquals(
                parsed("""
                        {"terminal": true, "consoleSize": {"height": 24, "width": 80},
                         "user": {"uid": 1, "gid": 2, "additionalGids": [3, 4]},
                         "args": ["a", "b"], "env": ["X=1"], "cwd": "/work",
                         "capabilities": {"bounding": ["CAP_A"], "effective": ["CAP_B"], "inheritable": ["CAP_C"],
                                          "permitted": ["CAP_D"], "ambient": ["CAP_E"]},
                         "rlimits": [{"type": "RLIMIT_CORE", "hard": 9, "soft": 8}],
                         "noNewPrivileges": true, "apparmorProfile": "profile", "selinuxLabel": "label", "oomScoreAdj": -5}
                        """),
                parsed(OciJson.process(TextFormat.parse("""
                                        Terminal: true ConsoleSize { Height: 24 Width: 80 }
                                        User { UID: 1 GID: 2 AdditionalGids: 3 AdditionalGids: 4 }
                                        Args: "a" Args: "b" Env: "X=1" Cwd: "/work"
                                        Capabilities { Bounding: "A" Effective: "B" Inheritable: "CAP_C" Permitted: "D" Ambient: "E" }
                                        Rlimits { Type: "RLIMIT_CORE" Hard: 9 Soft: 8 }
                                        NoNewPrivileges: true ApparmorProfile: "profile" SelinuxLabel: "label" OOMScoreAdj: -5
                                        """, Process.class)).toString()));
    }

    @Test
    void whatAProcessDoesNotHaveIsLeftOut() {
        JsonNode process = OciJson.process(Process.getDefaultInstance());

        for (String name : new String[] {"consoleSize", "apparmorProfile", "selinuxLabel", "oomScoreAdj"}) {
            assertFalse(process.has(name), name);
        }
        assertFalse(process.path("terminal").asBoolean());
        assertFalse(process.path("noNewPrivileges").asBoolean());
    }

    @Test
    void aConfigurationHasAllItsParts() throws TextFormat.ParseException, JsonProcessingException {
        JsonNode config = config("""
                Process { Args: "sh" } Root { Path: "/rootfs" Readonly: true }
                Mounts { destination: "/tmp" type: "tmpfs" source: "tmpfs" options: "ro" options: "nosuid" }
                Mounts { destination: "/x" }
                Annotations { key: "k" value: "v" }
                """);

        assertEquals("1.0.2", config.path("ociVersion").asText());
        assertEquals("sh", config.at("/process/args/0").asText());
        assertEquals(parsed("{\"path\": \"/rootfs\", \"readonly\": true}"), config.path("root"));
        assertEquals(parsed("""
                        [{"destination": "/tmp", "type": "tmpfs", "source": "tmpfs", "options": ["ro", "nosuid"]},
                         {"destination": "/x", "options": []}]
                        """), config.path("mounts"));
        assertEquals(parsed("{\"k\": \"v\"}"), config.path("annotations"));
    }

    @Test
    void linuxHasAllItsFields() throws TextFormat.ParseException, JsonProcessingException {
        assertLinux("""
                {"cgroupsPath": "/groups/a", "sysctl": {"net.x": "1"},
                 "uidMappings": [{"containerID": 1, "hostID": 2, "size": 4294967295}],
                 "gidMappings": [{"containerID": 4, "hostID": 5, "size": 6}],
                 "rootfsPropagation": "private", "mountLabel": "label",
                 "maskedPaths": ["/m"], "readonlyPaths": ["/r"]}
                """, """
                Sysctl { key: "net.x" value: "1" }
                UIDMappings { ContainerID: 1 HostID: 2 Size: 4294967295 }
                GIDMappings { ContainerID: 4 HostID: 5 Size: 6 }
                RootfsPropagation: "private" MountLabel: "label" MaskedPaths: "/m" ReadonlyPaths: "/r"
                """);
    }

    @Test
    void whatLinuxDoesNotHaveIsLeftOut() throws TextFormat.ParseException, JsonProcessingException {
        JsonNode linux = config("").path("linux");

        for (String name : new String[] {"uidMappings", "gidMappings", "seccomp", "rootfsPropagation", "mountLabel"}) {
            assertFalse(linux.has(name), name);
        }
        assertEquals(parsed("[{\"type\": \"pid\"}]"), linux.path("namespaces"));
    }

    @Test
    void aNamespaceOfProcessesIsNotAddedTwice() throws TextFormat.ParseException, JsonProcessingException {
        assertLinux(
                "{\"namespaces\": [{\"type\": \"pid\"}, {\"type\": \"network\"}]}",
                "Namespaces { Type: \"pid\" Path: \"/proc/1/ns/pid\" } Namespaces { Type: \"network\" }");
    }

    @Test
    void aDeviceHasAllItsFields() throws TextFormat.ParseException, JsonProcessingException {
        assertLinux("""
                {"devices": [{"path": "/dev/x", "type": "b", "uid": 1, "gid": 2, "major": 3, "minor": 4, "fileMode": 6},
                             {"path": "/dev/p", "type": "p", "uid": 0, "gid": 0}]}
                """, """
                Devices { Path: "/dev/x" Type: "b" UID: 1 GID: 2 Major: 3 Minor: 4 FileMode: 6 }
                Devices { Path: "/dev/p" Type: "p" Major: 3 Minor: 4 }
                """);
    }

    @Test
    void aFilterOfSystemCallsHasAllItsFields() throws TextFormat.ParseException, JsonProcessingException {
        assertLinux("""
                {"seccomp": {"defaultAction": "SCMP_ACT_ERRNO", "architectures": ["SCMP_ARCH_X86_64"], "flags": ["F"],
                 "syscalls": [{"action": "SCMP_ACT_ALLOW", "names": ["read"], "errnoRet": 5,
                               "args": [{"index": 1, "value": 18446744073709551615, "valueTwo": 2, "op": "SCMP_CMP_EQ"}]},
                              {"action": "SCMP_ACT_LOG", "names": [], "args": []}]}}
                """, """
                Seccomp { DefaultAction: "SCMP_ACT_ERRNO" Architectures: "SCMP_ARCH_X86_64" Flags: "F"
                  Syscalls { Action: "SCMP_ACT_ALLOW" Names: "read" errnoret: 5
                             Args { Index: 1 Value: 18446744073709551615 ValueTwo: 2 Op: "SCMP_CMP_EQ" } }
                  Syscalls { Action: "SCMP_ACT_LOG" } }
                """);
    }

    @Test
    void rulesOfDevicesAreResources() throws TextFormat.ParseException, JsonProcessingException {
        assertResources("""
                {"devices": [{"allow": true, "type": "c", "access": "rw", "major": 1, "minor": 3}, {"allow": false}]}
                """, "Devices { Allow: true Type: \"c\" Access: \"rw\" Major: 1 Minor: 3 } Devices { }");
    }

    @Test
    void allLimitsOfMemoryAreResources() throws TextFormat.ParseException, JsonProcessingException {
        assertResources("""
                {"memory": {"limit": 1, "reservation": 2, "swap": 3, "kernel": 4, "kernelTCP": 5, "swappiness": 6,
                            "disableOOMKiller": true}}
                """, """
                Memory { Limit: 1 Reservation: 2 Swap: 3 Kernel: 4 KernelTCP: 5 Swappiness: 6 DisableOOMKiller: true }
                """);
        assertResources("{\"memory\": {}}", "Memory { }");
    }

    @Test
    void allLimitsOfProcessorsAreResources() throws TextFormat.ParseException, JsonProcessingException {
        assertResources("""
                {"cpu": {"shares": 1, "quota": -1, "period": 3, "realtimeRuntime": 4, "realtimePeriod": 5,
                         "cpus": "0-1", "mems": "0"}}
                """, """
                CPU { Shares: 1 Quota: -1 Period: 3 RealtimeRuntime: 4 RealtimePeriod: 5 Cpus: "0-1" Mems: "0" }
                """);
        assertResources("{\"cpu\": {}}", "CPU { }");
    }

    @Test
    void limitsOfBlockDevicesAndLargePagesAreResources() throws TextFormat.ParseException, JsonProcessingException {
        assertResources("""
                {"blockIO": {"weight": 1, "leafWeight": 2,
                  "throttleReadBpsDevice": [{"major": 8, "minor": 1, "rate": 10}],
                  "throttleWriteBpsDevice": [{"major": 8, "minor": 2, "rate": 20}],
                  "throttleReadIOPSDevice": [{"major": 8, "minor": 3, "rate": 30}],
                  "throttleWriteIOPSDevice": [{"major": 8, "minor": 4, "rate": 40}]},
                 "hugepageLimits": [{"pageSize": "2MB", "limit": 18446744073709551615}],
                 "pids": {"limit": -1}}
                """, """
                BlockIO { Weight: 1 LeafWeight: 2
                  ThrottleReadBpsDevice { Major: 8 Minor: 1 Rate: 10 }
                  ThrottleWriteBpsDevice { Major: 8 Minor: 2 Rate: 20 }
                  ThrottleReadIOPSDevice { Major: 8 Minor: 3 Rate: 30 }
                  ThrottleWriteIOPSDevice { Major: 8 Minor: 4 Rate: 40 } }
                HugepageLimits { Pagesize: "2MB" Limit: 18446744073709551615 }
                Pids { Limit: -1 }
                """);
        assertResources("{\"blockIO\": {}}", "BlockIO { } Pids { }");
        assertTrue(OciJson.resources(LinuxResources.getDefaultInstance()).isEmpty());
    }
}
