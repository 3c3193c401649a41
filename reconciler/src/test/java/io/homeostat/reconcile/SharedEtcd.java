package io.homeostat.reconcile;

import com.google.common.collect.ImmutableList;
import com.google.common.io.MoreFiles;
import com.google.common.io.RecursiveDeleteOption;
import io.homeostat.controlplane.EtcdCluster;
import io.homeostat.desired.model.AgentConfig.Etcd;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * One etcd for all tests of this JVM, each with a prefix of its own. It begins with the first of them and ends with the JVM. A test that kills
 * etcd or makes users in it starts an {@link EtcdCluster} of its own.
 */
public final class SharedEtcd {
    private static final AtomicInteger PREFIXES = new AtomicInteger();

    /** Begins when somebody asks for it. */
    private static final class Running {
        static final String ENDPOINT = start();

        private static String start() {
            try {
                Path directory = Files.createTempDirectory("etcd");
                EtcdCluster cluster = EtcdCluster.start(directory, 1);
                Runtime.getRuntime().addShutdownHook(new Thread(() -> end(cluster, directory), "end etcd"));
                return cluster.endpoints().getFirst();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
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
    }

    private SharedEtcd() {}

    /** The address for clients. */
    public static String endpoint() {
        return Running.ENDPOINT;
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
