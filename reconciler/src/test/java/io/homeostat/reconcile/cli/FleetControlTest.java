package io.homeostat.reconcile.cli;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.io.MoreFiles;
import com.google.common.io.RecursiveDeleteOption;
import com.google.protobuf.ByteString;
import io.homeostat.desired.etcd.EtcdKeyValues;
import io.homeostat.desired.etcd.KeyValues;
import io.homeostat.reconcile.HeardLog;
import io.homeostat.reconcile.SharedEtcd;
import io.homeostat.reconcile.command.environment.Environment.Interrupts;
import io.homeostat.reconcile.fleet.FleetController;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyPairGenerator;
import java.time.Duration;
import java.util.Base64;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIf;

/** With a real etcd. */
@EnabledIf("io.homeostat.controlplane.EtcdCluster#isInstalled")
@Timeout(600)
class FleetControlTest {
    private static final Duration PATIENCE = Background.PATIENCE;

    private final CompletableFuture<Runnable> hangUp = new CompletableFuture<>();
    private Path directory;
    private final String prefix = SharedEtcd.newPrefix();
    private HeardLog log;
    private KeyValues store;

    @BeforeEach
    void start() throws IOException {
        directory = Shell.shortDirectory();
        log = HeardLog.ofLines(
                line -> line.contains(prefix) || line.contains(directory.toString()),
                FleetControl.class,
                FleetController.class);
        store = new EtcdKeyValues(SharedEtcd.below(prefix));
    }

    @AfterEach
    void end() throws Exception {
        log.close();
        store.close();
        MoreFiles.deleteRecursively(directory, RecursiveDeleteOption.ALLOW_INSECURE);
    }

    private void configure(String more) throws IOException {
        Files.writeString(directory.resolve("agent.yaml"), "sources: {" + SharedEtcd.source(prefix) + "}\n" + more);
    }

    /** When the leader began to lead, as a revision of the store. */
    private OptionalLong leads() throws Exception {
        return store.list(prefix + "/leader").entries().values().stream()
                .mapToLong(KeyValues.Entry::created)
                .findFirst();
    }

    /** In one line of the log. */
    private void awaitSaid(String one, String other) {
        await().atMost(PATIENCE)
                .until(() -> log.lines().stream().anyMatch(line -> line.contains(one) && line.contains(other)));
    }

    @Test
    void whatChangesInItsConfigurationCountsAtAHangUp() throws Exception {
        configure("signatures: {documents: {require: true, keys: [" + key() + "]}}\n");
        store.commit(
                ImmutableList.of(),
                ImmutableList.of(new KeyValues.Write.Put(
                        prefix + "/set", ByteString.copyFromUtf8(FleetOperationTest.SET), KeyValues.NO_LEASE)));
        Shell shell = new Shell(directory).asOrdinaryUser().signalled(new HangUps());
        CompletableFuture<Integer> ended = new CompletableFuture<>();
        Thread controller = Thread.ofPlatform()
                .start(() -> ended.complete(shell.fleet(directory.resolve("agent.yaml"), "controller")
                        .status()));
        try {
            awaitSaid(prefix + "/set", "signed");
            Runnable signal = hangUp.get(PATIENCE.toSeconds(), TimeUnit.SECONDS);

            OptionalLong first = leads();
            configure("nonsense: true\n");
            signal.run();
            awaitSaid(directory + "/agent.yaml:2:1: unknown key 'nonsense'", "; the controller goes on as before");
            assertEquals(first, leads(), "it has not even given up to lead");
            assertTrue(store.list(prefix + "/rollouts/").entries().isEmpty());

            configure("");
            signal.run();
            await().atMost(PATIENCE)
                    .until(() -> !store.list(prefix + "/rollouts/").entries().isEmpty());
        } finally {
            controller.interrupt();
        }
        assertEquals(0, ended.get(PATIENCE.toSeconds(), TimeUnit.SECONDS));
        assertTrue(leads().isEmpty(), "another one need not wait for its lease");
    }

    private Path key() throws IOException, GeneralSecurityException {
        byte[] key = KeyPairGenerator.getInstance("Ed25519")
                .generateKeyPair()
                .getPublic()
                .getEncoded();
        return Files.writeString(
                directory.resolve("key.pub"),
                "-----BEGIN PUBLIC KEY-----\n" + Base64.getEncoder().encodeToString(key)
                        + "\n-----END PUBLIC KEY-----\n");
    }

    private final class HangUps implements Interrupts {
        @Override
        public Guard guard() {
            return () -> {};
        }

        @Override
        public Guard daemon(Runnable onHangUp) {
            hangUp.complete(onHangUp);
            return () -> {};
        }
    }
}
