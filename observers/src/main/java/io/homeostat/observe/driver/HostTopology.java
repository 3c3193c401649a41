package io.homeostat.observe.driver;

import com.google.common.base.Splitter;
import com.google.common.primitives.Doubles;
import com.google.common.primitives.Ints;
import com.google.common.primitives.Longs;
import io.homeostat.proto.nomad.base.ClientTopology;
import io.homeostat.proto.nomad.base.ClientTopologyCore;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The processors of this host, as drivers are told of them (proc_cpuinfo(5)). There is always at least one: some drivers crash without.
 *
 * @param mhz of each core; 1000 where the kernel does not say
 * @param memory in bytes, of all programs together (proc_meminfo(5)); 1 GiB where the kernel does not say
 */
public record HostTopology(ClientTopology message, long mhz, long memory) {
    private static final Path CPUINFO = Path.of("/proc/cpuinfo");
    private static final Path MEMINFO = Path.of("/proc/meminfo");
    private static final long USUAL_MEMORY = 1L << 30;
    private static final long USUAL_MHZ = 1000;

    /** As it is now. */
    public static HostTopology read() {
        return read(CPUINFO, MEMINFO);
    }

    static HostTopology read(Path cpuinfo, Path meminfo) {
        List<ClientTopologyCore.Builder> cores = new ArrayList<>();
        try {
            for (String line : Files.readAllLines(cpuinfo)) {
                List<String> parts = Splitter.on(':').trimResults().limit(2).splitToList(line);
                if (parts.size() == 2) {
                    add(parts.get(0), parts.get(1), cores);
                }
            }
        } catch (IOException e) {
            cores.clear();
        }
        if (cores.isEmpty()) {
            cores.add(ClientTopologyCore.newBuilder());
        }
        long mhz = cores.stream()
                .mapToLong(ClientTopologyCore.Builder::getGuessSpeed)
                .max()
                .orElse(0);
        ClientTopology.Builder topology = ClientTopology.newBuilder().addNodeIds(0);
        cores.forEach(core -> topology.addCores(core.setGuessSpeed(mhz > 0 ? mhz : USUAL_MHZ)));
        return new HostTopology(topology.build(), mhz > 0 ? mhz : USUAL_MHZ, memory(meminfo));
    }

    private static void add(String key, String value, List<ClientTopologyCore.Builder> cores) {
        if (key.equals("processor")) {
            cores.add(ClientTopologyCore.newBuilder().setCoreId(orZero(Ints.tryParse(value))));
        } else if (!cores.isEmpty() && key.equals("physical id")) {
            cores.getLast().setSocketId(orZero(Ints.tryParse(value)));
        } else if (!cores.isEmpty() && key.equals("cpu MHz")) {
            Double mhz = Doubles.tryParse(value);
            cores.getLast().setGuessSpeed(mhz == null ? 0 : Math.round(mhz));
        }
    }

    private static long memory(Path meminfo) {
        try {
            for (String line : Files.readAllLines(meminfo)) {
                if (line.startsWith("MemTotal:")) {
                    Long kib = Longs.tryParse(line.replaceAll("[^0-9]", ""));
                    return kib == null ? USUAL_MEMORY : kib << 10;
                }
            }
        } catch (IOException e) {
            return USUAL_MEMORY;
        }
        return USUAL_MEMORY;
    }

    private static int orZero(@Nullable Integer number) {
        return number == null || number < 0 ? 0 : number;
    }

    /** Of all cores together. */
    public long totalMhz() {
        return mhz * message.getCoresCount();
    }
}
