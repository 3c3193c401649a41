package io.homeostat.reconcile;

import com.google.common.base.Supplier;
import com.google.common.base.Suppliers;
import com.google.common.collect.ImmutableList;
import com.google.common.io.MoreFiles;
import com.google.common.io.RecursiveDeleteOption;
import io.homeostat.controlplane.EtcdCluster;
import io.homeostat.desired.model.AgentConfig.Etcd;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * One etcd for all tests of this JVM, each with a prefix of its own. It begins with the first of them and ends with the JVM. Users are named
 * by their prefix too. A test that kills etcd, or has it ask for passwords, starts an {@link EtcdCluster} of its own.
 */
public final class SharedEtcd {
    private static final int TRIES = 3;
    private static final AtomicInteger PREFIXES = new AtomicInteger();

    /** Endpoint of the shared etcd; kept only after a start that succeeded. */
    private static final Supplier<String> ENDPOINT = Suppliers.memoize(SharedEtcd::start);

    private SharedEtcd() {}

    /** The address for clients. It begins when somebody first asks for that. */
    public static String endpoint() {
        return ENDPOINT.get();
    }

    /** A port that was free may be taken before etcd listens there. */
    private static String start() {
        UncheckedIOException failure = new UncheckedIOException(new IOException("etcd was not started"));
        for (int i = 0; i < TRIES; i++) {
            try {
                return startOnce();
            } catch (InterruptedIOException e) {
                throw new UncheckedIOException(e);
            } catch (IOException e) {
                failure.addSuppressed(e);
            }
        }
        throw failure;
    }

    private static String startOnce() throws IOException {
        Path directory = Files.createTempDirectory("etcd");
        try {
            EtcdCluster cluster = EtcdCluster.start(directory, 1);
            Runtime.getRuntime().addShutdownHook(new Thread(() -> end(cluster, directory), "end etcd"));
            return cluster.endpoints().getFirst();
        } catch (IOException e) {
            try {
                MoreFiles.deleteRecursively(directory, RecursiveDeleteOption.ALLOW_INSECURE);
            } catch (IOException left) {
                e.addSuppressed(left);
            }
            throw e;
        }
    }

    private static void end(EtcdCluster cluster, Path directory) {
        try {
            cluster.close();
            MoreFiles.deleteRecursively(directory, RecursiveDeleteOption.ALLOW_INSECURE);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** A prefix that no other test has. */
    public static String newPrefix() {
        return "/test-" + PREFIXES.incrementAndGet();
    }

    /** Everything below a prefix, without a password. */
    public static Etcd below(String prefix) {
        return new Etcd(ImmutableList.of(endpoint()), prefix, null, null);
    }

    /** The same as a line of {@code agent.yaml}, which may be followed by other sources. */
    public static String source(String prefix) {
        return "etcd: {prefix: " + prefix + ", endpoints: ['" + endpoint() + "']}";
    }
}
