package io.homeostat.controlplane;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** Real members of etcd on loopback, as Debian's etcd-server brings them. They end when this is closed. */
public final class EtcdCluster implements AutoCloseable {
    private static final String PROGRAM = "/usr/bin/etcd";
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final Duration START = Duration.ofMinutes(3);
    private static final Duration LOOK = Duration.ofMillis(20);
    private static final String READY = "ready to serve client requests";

    private final List<Member> members = new ArrayList<>();

    private EtcdCluster(Path directory, int size, List<String> options) throws IOException {
        Files.createDirectories(directory);
        List<Integer> ports = new ArrayList<>();
        while (ports.size() < 2 * size) {
            ports.add(FreePorts.take());
        }
        String peers = IntStream.range(0, size)
                .mapToObj(i -> "m" + i + "=" + url("http", ports.get(size + i)))
                .collect(Collectors.joining(","));
        String scheme = options.contains("--cert-file") ? "https" : "http";
        for (int i = 0; i < size; i++) {
            List<String> command = new ArrayList<>(List.of(PROGRAM, "--name", "m" + i));
            command.addAll(List.of("--data-dir", directory.resolve("m" + i).toString()));
            command.addAll(List.of("--listen-client-urls", url(scheme, ports.get(i))));
            command.addAll(List.of("--advertise-client-urls", url(scheme, ports.get(i))));
            command.addAll(List.of("--listen-peer-urls", url("http", ports.get(size + i))));
            command.addAll(List.of("--initial-advertise-peer-urls", url("http", ports.get(size + i))));
            command.addAll(List.of("--initial-cluster", peers, "--initial-cluster-state", "new"));
            // Tests write little, and a disk that is shared with a build is slow.
            command.addAll(List.of("--unsafe-no-fsync", "--heartbeat-interval", "100", "--election-timeout", "1000"));
            // Passwords of tests need no protection from guessing.
            command.addAll(List.of("--bcrypt-cost", "4"));
            command.addAll(options);
            members.add(new Member(command, url(scheme, ports.get(i)), directory.resolve("m" + i + ".log")));
        }
    }

    /** Whether there is such a program here. */
    public static boolean isInstalled() {
        return Files.isExecutable(Path.of(PROGRAM));
    }

    /**
     * Starts members, and waits until they serve clients: whoever asks once is not to be early.
     *
     * @param directory for what they store, and their logs
     * @param options of etcd for each, such as {@code --cert-file}
     */
    public static EtcdCluster start(Path directory, int size, String... options) throws IOException {
        EtcdCluster cluster = new EtcdCluster(directory, size, List.of(options));
        for (int i = 0; i < size; i++) {
            cluster.start(i);
        }
        try {
            for (Member member : cluster.members) {
                member.awaitReady();
            }
            return cluster;
        } catch (IOException | InterruptedException e) {
            cluster.members.forEach(Member::destroy);
            if (e instanceof IOException failure) {
                throw failure;
            }
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("interrupted while etcd starts");
        }
    }

    /** The addresses for clients. */
    public List<String> endpoints() {
        return members.stream().map(Member::endpoint).toList();
    }

    /** Kills a member, as a power cut would. */
    public void kill(int member) throws InterruptedException {
        members.get(member).kill();
    }

    /** Starts a member that was killed. */
    public void start(int member) throws IOException {
        members.get(member).start();
    }

    /** The id of a member's process. */
    public long pid(int member) {
        return members.get(member).process().pid();
    }

    @Override
    public void close() throws InterruptedException {
        for (Member member : members) {
            member.kill();
        }
    }

    private static String url(String scheme, int port) {
        return scheme + "://127.0.0.1:" + port;
    }

    private static final class Member {
        private final List<String> command;
        private final String endpoint;
        private final Path log;
        private @Nullable Process process;

        Member(List<String> command, String endpoint, Path log) {
            this.command = command;
            this.endpoint = endpoint;
            this.log = log;
        }

        String endpoint() {
            return endpoint;
        }

        Process process() {
            if (process == null) {
                throw new IllegalStateException("not started: " + command);
            }
            return process;
        }

        void start() throws IOException {
            process = new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile()))
                    .start();
        }

        void awaitReady() throws IOException, InterruptedException {
            long began = System.nanoTime();
            while (!Files.readString(log, StandardCharsets.ISO_8859_1).contains(READY)) {
                if (!process().isAlive() || System.nanoTime() - began > START.toNanos()) {
                    throw new IOException("etcd does not serve; its log says: " + Files.readString(log));
                }
                Thread.sleep(LOOK.toMillis());
            }
        }

        void destroy() {
            process().destroyForcibly();
        }

        void kill() throws InterruptedException {
            if (process == null) {
                return;
            }
            process.destroyForcibly();
            if (!process.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS)) {
                throw new IllegalStateException("could not kill " + command);
            }
        }
    }
}
