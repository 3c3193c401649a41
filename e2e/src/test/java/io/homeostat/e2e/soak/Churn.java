package io.homeostat.e2e.soak;

import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** What happens to a machine, in any order and much too often. */
final class Churn implements Soak.Happenings {
    /** Of these there are always some; the other names are used once. */
    private static final int SCRIPTS = 8;

    private static final int INSTALLED = 4;
    private static final int PLUGINS = 3;
    private static final int APPLIED = 3;
    private static final int FOLLOWERS = 3;
    private static final Duration BETWEEN = Duration.ofMillis(200);

    /** What can happen, and how often relative to the others. */
    private enum Happening {
        SCRIPT_CHANGED(10),
        SCRIPT_WITHDRAWN(2),
        FILE_BROKEN(3),
        NAME_USED_ONCE(6),
        UPGRADED(5),
        PLUGIN_CONFIGURED(3),
        PLUGIN_CHANGED(1),
        KILLED(12),
        INSTALLATION_DELETED(2),
        INSTALLED_FILE_CHANGED(2),
        SOCKET_DELETED(2),
        LOG_DELETED(2),
        APPLIED(3),
        DELETED(1),
        ASKED(4),
        FOLLOWED(4),
        PAUSED(1),
        SCRAPED(6),
        TOLD_TO_READ_AGAIN(1);

        private final int weight;

        Happening(int weight) {
            this.weight = weight;
        }
    }

    private final Daemon daemon;
    private final Random random;
    private final Declarations declarations;
    private final Deque<Process> followers = new ArrayDeque<>();
    private final Map<Happening, Integer> happened = new EnumMap<>(Happening.class);
    private int number;

    Churn(Daemon daemon, Random random) throws IOException, InterruptedException {
        this.daemon = daemon;
        this.random = random;
        this.declarations = new Declarations(daemon);
        declareAll();
    }

    private void declareAll() throws IOException, InterruptedException {
        for (int i = 0; i < SCRIPTS; i++) {
            declarations.script("script-" + i, 1);
        }
        for (int i = 0; i < INSTALLED; i++) {
            declarations.installed("installed-" + i, 1);
        }
        for (int i = 0; i < PLUGINS; i++) {
            declarations.plugin("plugin-" + i, 1, "steady");
        }
        for (int i = 0; i < APPLIED; i++) {
            daemon.command("apply", "-f", declarations.applied("applied-" + i, 1), "--timeout", "2s");
        }
    }

    @Override
    public void step() throws IOException, InterruptedException {
        number++;
        Happening next = next();
        happened.merge(next, 1, Integer::sum);
        switch (next) {
            case SCRIPT_CHANGED -> declarations.script("script-" + random.nextInt(SCRIPTS), number);
            case SCRIPT_WITHDRAWN -> declarations.withdraw("script-" + random.nextInt(SCRIPTS));
            case FILE_BROKEN -> declarations.breakFile("script-" + random.nextInt(SCRIPTS));
            case NAME_USED_ONCE -> {
                declarations.script("once-" + number, number);
                declarations.withdrawOld("once-");
            }
            case UPGRADED -> declarations.installed("installed-" + random.nextInt(INSTALLED), number);
            case PLUGIN_CONFIGURED -> declarations.plugin("plugin-" + random.nextInt(PLUGINS), number, "steady");
            case PLUGIN_CHANGED -> declarations.plugin("plugin-" + random.nextInt(PLUGINS), number, "v" + number);
            case KILLED ->
                kill(daemon.running().stream().filter(Running::isWorkload).toList());
            case INSTALLATION_DELETED -> delete(below(daemon.state(), "installed-\\d+_.*"));
            case INSTALLED_FILE_CHANGED -> append(below(daemon.state(), "data"));
            case SOCKET_DELETED -> delete(below(daemon.run(), "plugin-.*\\.sock"));
            case LOG_DELETED -> delete(below(daemon.state(), "(process|plugin)\\.log"));
            case APPLIED -> {
                String file = declarations.applied("applied-" + random.nextInt(APPLIED), number);
                daemon.command("apply", "-f", file, "--timeout", "2s");
            }
            case DELETED -> daemon.command("delete", "process/applied-" + random.nextInt(APPLIED), "--timeout", "2s");
            case ASKED -> daemon.command(any(List.of("status", "plan", "events")));
            case FOLLOWED -> follow();
            case PAUSED -> pause();
            case SCRAPED -> scrape();
            case TOLD_TO_READ_AGAIN ->
                new ProcessBuilder("kill", "-HUP", Long.toString(daemon.pid()))
                        .start()
                        .waitFor();
        }
        LockSupport.parkNanos(BETWEEN.toNanos());
    }

    private Happening next() {
        int chosen = random.nextInt(Stream.of(Happening.values())
                .mapToInt(happening -> happening.weight)
                .sum());
        for (Happening happening : Happening.values()) {
            chosen -= happening.weight;
            if (chosen < 0) {
                return happening;
            }
        }
        throw new IllegalStateException("weights");
    }

    @Override
    public void rest() throws IOException, InterruptedException {
        declareAll();
        for (int i = 0; i < APPLIED; i++) {
            daemon.command("resume", "process/applied-" + i);
        }
        followers.forEach(Process::destroyForcibly);
    }

    @Override
    public String summary() {
        return happened.entrySet().stream()
                .map(entry -> entry.getValue() + " "
                        + entry.getKey().name().toLowerCase(Locale.ROOT).replace('_', ' '))
                .collect(Collectors.joining(", "));
    }

    private void follow() throws IOException {
        if (followers.size() == FOLLOWERS) {
            // Not asked to end: that is how readers go away.
            followers.removeFirst().destroyForcibly();
        }
        followers.addLast(
                random.nextBoolean()
                        ? daemon.follow("events", "--follow")
                        : daemon.follow("logs", "process/script-" + random.nextInt(SCRIPTS), "-f"));
    }

    private void pause() throws IOException, InterruptedException {
        String workload = "process/applied-" + random.nextInt(APPLIED);
        daemon.command("pause", workload, "--reason", "soak");
        daemon.command("resume", workload);
    }

    private void scrape() throws IOException {
        try (SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX)) {
            channel.connect(UnixDomainSocketAddress.of(daemon.metrics()));
            channel.write(StandardCharsets.US_ASCII.encode(
                    "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"));
            ByteBuffer answer = ByteBuffer.allocate(65536);
            while (channel.read(answer) >= 0) {
                answer.clear();
            }
        }
    }

    private void kill(List<Running> processes) {
        if (!processes.isEmpty()) {
            any(processes).kill();
        }
    }

    private void append(List<Path> files) throws IOException {
        if (!files.isEmpty()) {
            Path file = any(files);
            Files.writeString(file, Files.readString(file) + ".");
        }
    }

    private void delete(List<Path> files) throws IOException {
        if (!files.isEmpty()) {
            Trees.delete(any(files));
        }
    }

    private static List<Path> below(Path directory, String name) throws IOException {
        return Trees.files(directory).stream()
                .filter(file -> file.getFileName().toString().matches(name))
                .toList();
    }

    private <T> T any(List<T> choices) {
        return choices.get(random.nextInt(choices.size()));
    }
}
