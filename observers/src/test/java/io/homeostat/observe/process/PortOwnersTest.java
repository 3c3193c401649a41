package io.homeostat.observe.process;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.homeostat.desired.platform.Layout;
import io.homeostat.observe.limits.CgroupLayout;
import io.homeostat.observe.limits.LimitObserver;
import io.homeostat.observe.process.PortOwners.Owner;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PortOwnersTest {
    /** Until it executes its program a child has all that its parent has open, whichever of the two has the lower number. */
    @ParameterizedTest
    @CsvSource({"7, 70", "70, 7"})
    void whoListensIsNamedAndNotItsChild(long server, long child, @TempDir Path root) throws IOException {
        FakeProc proc = new FakeProc(root);
        proc.write("net/tcp", "0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 4711 1\n");
        listens(proc.process(server, 1, server, 100), server);
        listens(proc.process(child, server, server, 900), child);
        PortOwners owners =
                new PortOwners(new Layout(root, root, "m"), proc.procFs, new LimitObserver(CgroupLayout.NONE));

        assertEquals(
                new Owner.Other("process " + server + " (program)"),
                owners.of(Optional.empty(), new InetSocketAddress(InetAddress.getLoopbackAddress(), 8080)));
    }

    private static void listens(FakeProc proc, long pid) throws IOException {
        Path descriptors = Files.createDirectories(proc.root.resolve(pid + "/fd"));
        Files.createSymbolicLink(descriptors.resolve("3"), Path.of("socket:[4711]"));
    }
}
