package io.homeostat.guest;

import com.google.common.base.Splitter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/** Stands in for the monitor of a virtual machine: a process that ends when the agent in it does. */
public final class FakeMachine {
    private static final Duration POLL = Duration.ofMillis(50);

    private FakeMachine() {}

    /**
     * Runs until it is killed, or the sandbox in it is destroyed. A file restart-agent in its directory has its agent started again.
     *
     * @param args where its agent is to listen, a directory for what is copied into it, then its network interfaces as NAME=ADDRESS
     */
    public static void main(String[] args) throws IOException, InterruptedException {
        Path files = Files.createDirectories(Path.of(args[1]));
        try (FakeGuest guest = new FakeGuest(Path.of(args[0]), files)) {
            for (String nic : List.of(args).subList(2, args.length)) {
                List<String> parts = Splitter.on('=').splitToList(nic);
                guest.agent().plugIn(parts.get(0), parts.get(1));
            }
            guest.onDestroyed(() -> Runtime.getRuntime().halt(0));
            Path order = files.resolve("restart-agent");
            while (true) {
                if (Files.deleteIfExists(order)) {
                    guest.restartAgent();
                    guest.onDestroyed(() -> Runtime.getRuntime().halt(0));
                }
                Thread.sleep(POLL);
            }
        }
    }
}
