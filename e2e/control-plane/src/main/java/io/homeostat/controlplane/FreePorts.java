package io.homeostat.controlplane;

import java.io.IOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;

/** Ports on loopback for programs that are told where to listen. */
public final class FreePorts {
    private static final int LOWEST = 10_000;
    private static final int TRIES = 1_000;

    /** Ports given out so far. A program may listen there much later, or again. */
    private static final Set<Integer> GIVEN = ConcurrentHashMap.newKeySet();

    private FreePorts() {}

    /**
     * Returns a port that nobody listens on and that was not given out in this JVM before. It is below the kernel's ephemeral range, so no
     * other program gets it by chance, unless that range begins with the lowest ports.
     */
    public static int take() throws IOException {
        // In one piece: the kernel gives such a file only to the first read, and readString() begins with one of a
        // byte.
        String range = Files.readAllLines(Path.of("/proc/sys/net/ipv4/ip_local_port_range"))
                .getFirst();
        int end = Integer.parseInt(range.substring(0, range.indexOf('\t')).strip());
        for (int attempt = 0; end > LOWEST && attempt < TRIES; attempt++) {
            int port = ThreadLocalRandom.current().nextInt(LOWEST, end);
            if (GIVEN.add(port) && isFree(port)) {
                return port;
            }
        }
        try (ServerSocket any = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            GIVEN.add(any.getLocalPort());
            return any.getLocalPort();
        }
    }

    private static boolean isFree(int port) throws IOException {
        try (ServerSocket _ = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
            return true;
        } catch (BindException taken) {
            return false;
        }
    }
}
