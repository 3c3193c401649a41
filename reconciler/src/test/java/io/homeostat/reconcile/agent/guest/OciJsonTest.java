package io.homeostat.reconcile.agent.guest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import com.fasterxml.jackson.databind.JsonNode;
import io.homeostat.proto.kata.Linux;
import io.homeostat.proto.kata.LinuxCPU;
import io.homeostat.proto.kata.LinuxCapabilities;
import io.homeostat.proto.kata.LinuxDevice;
import io.homeostat.proto.kata.LinuxMemory;
import io.homeostat.proto.kata.LinuxNamespace;
import io.homeostat.proto.kata.LinuxPids;
import io.homeostat.proto.kata.LinuxResources;
import io.homeostat.proto.kata.Mount;
import io.homeostat.proto.kata.POSIXRlimit;
import io.homeostat.proto.kata.Process;
import io.homeostat.proto.kata.Root;
import io.homeostat.proto.kata.Spec;
import io.homeostat.proto.kata.User;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class OciJsonTest {
    private static final GuestPaths PATHS = new GuestPaths(Path.of("/state/guest"));

    private static JsonNode config(Spec.Builder spec) {
        return OciJson.config(spec.build(), PATHS, "/groups/a", Path.of("/ns/ipc"), Path.of("/ns/uts"));
    }

    private static Process.Builder process() {
        return Process.newBuilder().addArgs("true").setCapabilities(LinuxCapabilities.getDefaultInstance());
    }

    @Test
    void pathsOfAnAgentAreOurs() {
        JsonNode config = config(Spec.newBuilder()
                .setProcess(process())
                .setRoot(Root.newBuilder().setPath("/run/kata-containers/shared/containers/app/rootfs"))
                .addMounts(Mount.newBuilder()
                        .setDestination("/a")
                        .setSource("/run/kata-containers/x")
                        .setType("bind"))
                .addMounts(Mount.newBuilder()
                        .setDestination("/b")
                        .setSource("/srv/b")
                        .setType("bind"))
                .addMounts(Mount.newBuilder()
                        .setDestination("/proc")
                        .setSource("proc")
                        .setType("proc")));

        assertEquals(
                "/state/guest/run/shared/containers/app/rootfs",
                config.at("/root/path").asText());
        assertEquals("/state/guest/run/x", config.at("/mounts/0/source").asText());
        assertEquals("/srv/b", config.at("/mounts/1/source").asText());
        assertEquals("proc", config.at("/mounts/2/source").asText());
    }

    @Test
    void itSharesTwoNamespacesAndHasOneOfProcesses() {
        Linux.Builder linux = Linux.newBuilder().setCgroupsPath("/of/the/host");
        for (String type : new String[] {"mount", "ipc", "uts", "ipc"}) {
            linux.addNamespaces(LinuxNamespace.newBuilder().setType(type).setPath("/proc/1/ns/" + type));
        }

        JsonNode config = config(Spec.newBuilder().setProcess(process()).setLinux(linux));

        assertEquals(
                "[{\"type\":\"mount\"},{\"type\":\"ipc\",\"path\":\"/ns/ipc\"},{\"type\":\"uts\",\"path\":\"/ns/uts\"},{\"type\":\"pid\"}]",
                config.at("/linux/namespaces").toString());
        assertEquals("/groups/a", config.at("/linux/cgroupsPath").asText());
    }

    @Test
    void numbersOfUsersAndLimitsOfProcessesAreUnsigned() {
        JsonNode json = OciJson.process(process()
                .setUser(User.newBuilder().setUID(-2).setGID(7).addAdditionalGids(-1))
                .setCapabilities(
                        LinuxCapabilities.newBuilder().addBounding("NET_ADMIN").addAmbient("CAP_CHOWN"))
                .addRlimits(POSIXRlimit.newBuilder()
                        .setType("RLIMIT_NOFILE")
                        .setHard(-1)
                        .setSoft(10))
                .build());

        assertEquals(
                "{\"uid\":4294967294,\"gid\":7,\"additionalGids\":[4294967295]}",
                json.at("/user").toString());
        assertEquals("18446744073709551615", json.at("/rlimits/0/hard").asText());
        assertEquals("[\"CAP_NET_ADMIN\"]", json.at("/capabilities/bounding").toString());
        assertEquals("[\"CAP_CHOWN\"]", json.at("/capabilities/ambient").toString());
        assertEquals("/", json.at("/cwd").asText());
    }

    @Test
    void whatIsNotLimitedIsAbsentAndMinusOneIsNot() {
        assertEquals(
                "{}", OciJson.resources(LinuxResources.getDefaultInstance()).toString());
        assertEquals(
                "{\"memory\":{\"limit\":-1},\"cpu\":{\"quota\":50000,\"period\":100000,\"cpus\":\"0-1\"},\"pids\":{\"limit\":20}}",
                OciJson.resources(LinuxResources.newBuilder()
                                .setMemory(LinuxMemory.newBuilder().setLimit(-1))
                                .setCPU(LinuxCPU.newBuilder()
                                        .setQuota(50_000)
                                        .setPeriod(100_000)
                                        .setCpus("0-1"))
                                .setPids(LinuxPids.newBuilder().setLimit(20))
                                .build())
                        .toString());
    }

    @Test
    void aPipeIsNoDeviceWithNumbers() {
        JsonNode devices = config(Spec.newBuilder()
                        .setProcess(process())
                        .setLinux(Linux.newBuilder()
                                .addDevices(LinuxDevice.newBuilder()
                                        .setPath("/dev/fuse")
                                        .setType("c")
                                        .setMajor(10)
                                        .setMinor(229)
                                        .setFileMode(0666))
                                .addDevices(LinuxDevice.newBuilder()
                                        .setPath("/dev/p")
                                        .setType("p"))))
                .at("/linux/devices");

        assertEquals(10, devices.at("/0/major").asInt());
        assertEquals(0666, devices.at("/0/fileMode").asInt());
        assertFalse(devices.get(1).has("major"));
    }
}
