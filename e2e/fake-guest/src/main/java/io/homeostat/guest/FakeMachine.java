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
     * @param args as for Cloud Hypervisor; or where its agent is to listen, a directory for what is copied into it, then its network interfaces as NAME=ADDRESS
     */
    public static void main(String[] args) throws IOException, InterruptedException {
        if (args.length > 0 && args[0].startsWith("--")) {
            likeCloudHypervisor(List.of(args));
            return;
        }
        run(Path.of(args[0]), Path.of(args[1]), List.of(args).subList(2, args.length));
    }

    /** Of its options those that matter here: {@code --net mac=ADDRESS} and {@code --vsock cid=N,socket=PATH}. */
    private static void likeCloudHypervisor(List<String> args) throws IOException, InterruptedException {
        Path socket = Path.of(option(args, "--vsock", "socket"));
        Path agent = socket.resolveSibling(socket.getFileName() + ".agent");
        // Of one that was killed.
        Files.deleteIfExists(socket);
        try (FakeMonitor _ = new FakeMonitor(socket, agent)) {
            run(
                    agent,
                    socket.resolveSibling(socket.getFileName() + ".files"),
                    List.of("eth0=" + option(args, "--net", "mac")));
        }
    }

    private static String option(List<String> args, String name, String key) {
        String value = args.get(args.indexOf(name) + 1);
        return Splitter.on(',').withKeyValueSeparator('=').split(value).getOrDefault(key, "");
    }

    private static void run(Path socket, Path directory, List<String> nics) throws IOException, InterruptedException {
        Path files = Files.createDirectories(directory);
        try (FakeGuest guest = new FakeGuest(socket, files)) {
            for (String nic : nics) {
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
