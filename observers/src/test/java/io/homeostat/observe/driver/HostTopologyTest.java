package io.homeostat.observe.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.proto.nomad.base.ClientTopology;
import io.homeostat.proto.nomad.base.ClientTopologyCore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class HostTopologyTest {
    @TempDir
    Path root;

    private HostTopology read(String... lines) throws Exception {
        Path cpuinfo = root.resolve("cpuinfo");
        Files.write(cpuinfo, List.of(lines));
        return HostTopology.read(cpuinfo, Path.of("/nowhere"));
    }

    private static ClientTopologyCore core(int socket, int id, long mhz) {
        return ClientTopologyCore.newBuilder()
                .setSocketId(socket)
                .setCoreId(id)
                .setGuessSpeed(mhz)
                .build();
    }

    private static ClientTopology of(ClientTopologyCore... cores) {
        return ClientTopology.newBuilder()
                .addNodeIds(0)
                .addAllCores(List.of(cores))
                .build();
    }

    @Test
    void coresOfTwoSocketsHaveTheHighestFrequencyThatIsSeen() throws Exception {
        HostTopology topology = read(
                "processor\t: 0",
                "vendor_id\t: GenuineIntel",
                "cpu MHz\t\t: 1200.000",
                "physical id\t: 0",
                "core id\t\t: 0",
                "flags\t\t: fpu: vme",
                "power management:",
                "",
                "processor\t: 1",
                "cpu MHz\t\t: 2599.998",
                "physical id\t: 1",
                "core id\t\t: 0",
                "");

        assertEquals(of(core(0, 0, 2600), core(1, 1, 2600)), topology.message());
        assertEquals(2600, topology.mhz());
        assertEquals(5200, topology.totalMhz());
        assertFalse(topology.message().hasDistances());
    }

    @Test
    void whereTheKernelTellsNoFrequencyAUsualOneIsAssumed() throws Exception {
        HostTopology topology = read(
                "processor\t: 0",
                "BogoMIPS\t: 38.40",
                "CPU implementer\t: 0x41",
                "",
                "processor\t: 1",
                "BogoMIPS\t: 38.40",
                "",
                "Hardware\t: BCM2835");

        assertEquals(of(core(0, 0, 1000), core(0, 1, 1000)), topology.message());
        assertEquals(2000, topology.totalMhz());
    }

    @Test
    void numbersThatAreNoneCountAsZero() throws Exception {
        assertEquals(
                of(core(0, 0, 1000)),
                read("physical id : 7", "cpu MHz : 5", "processor : x", "physical id : -1", "cpu MHz : fast")
                        .message());
    }

    @Test
    void thereIsAlwaysACore() throws Exception {
        ClientTopology one = of(core(0, 0, 1000));
        assertEquals(one, read().message());
        assertEquals(
                one, read("vendor_id : IBM/S390", "processor 0: version = 00").message());
        assertEquals(
                one,
                HostTopology.read(root.resolve("missing"), Path.of("/nowhere")).message());
        assertEquals(one, HostTopology.read(root, Path.of("/nowhere")).message());
    }

    @Test
    void thisMachineHasOneToo() {
        assertTrue(HostTopology.read().message().getCoresCount() >= 1);
    }
}
