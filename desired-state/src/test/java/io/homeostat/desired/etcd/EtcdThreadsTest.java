package io.homeostat.desired.etcd;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.common.collect.ImmutableList;
import io.homeostat.controlplane.EtcdCluster;
import io.homeostat.desired.model.AgentConfig.Etcd;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.api.io.TempDir;

/** In a process of its own: in this one other tests use the network. */
@EnabledIf("io.homeostat.controlplane.EtcdCluster#isInstalled")
@Timeout(600)
class EtcdThreadsTest {
    @TempDir
    Path directory;

    @Test
    void noThreadWaitsForTheNetworkAtTheEndOfAProcess() throws IOException, InterruptedException {
        try (EtcdCluster etcd = EtcdCluster.start(directory, 1)) {
            Process process = new ProcessBuilder(
                            Path.of(System.getProperty("java.home"), "bin", "java")
                                    .toString(),
                            "-XX:TieredStopAtLevel=1",
                            "--enable-native-access=ALL-UNNAMED",
                            "--sun-misc-unsafe-memory-access=allow",
                            "-cp",
                            System.getProperty("java.class.path"),
                            OneCommand.class.getName(),
                            etcd.endpoints().getFirst())
                    .redirectError(ProcessBuilder.Redirect.INHERIT)
                    .start();
            try {
                assertEquals(
                        List.of("after 0 entries: false"), process.inputReader().readAllLines());
                assertEquals(0, process.waitFor());
            } finally {
                process.destroyForcibly();
            }
        }
    }

    static final class OneCommand {
        private OneCommand() {}

        public static void main(String[] arguments) throws Exception {
            int entries;
            try (KeyValues etcd =
                    new EtcdKeyValues(new Etcd(ImmutableList.of(arguments[0]), "/homeostat", null, null))) {
                entries = etcd.list("/homeostat/").entries().size();
            }
            // Told to end by the close, and not waited for there.
            for (Thread thread : Thread.getAllStackTraces().keySet()) {
                if (thread.getName().startsWith("grpc-") && !thread.getName().startsWith("grpc-default")) {
                    thread.join();
                }
            }
            System.out.println("after " + entries + " entries: " + someoneWaits());
        }

        private static boolean someoneWaits() {
            return Thread.getAllStackTraces().values().stream()
                    .flatMap(Arrays::stream)
                    .anyMatch(frame -> frame.getClassName().equals("sun.nio.ch.EPoll"));
        }
    }
}
