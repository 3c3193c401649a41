package io.homeostat.desired.etcd;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.Lists;
import com.google.protobuf.ByteString;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.homeostat.controlplane.EtcdCluster;
import io.homeostat.controlplane.TestAuthority;
import io.homeostat.desired.etcd.KeyValues.Condition;
import io.homeostat.desired.etcd.KeyValues.Entry;
import io.homeostat.desired.etcd.KeyValues.Leadership;
import io.homeostat.desired.etcd.KeyValues.Listener;
import io.homeostat.desired.etcd.KeyValues.Listing;
import io.homeostat.desired.etcd.KeyValues.Write;
import io.homeostat.desired.model.AgentConfig.Etcd;
import io.homeostat.desired.model.AgentConfig.Login;
import io.homeostat.desired.model.AgentConfig.Tls;
import io.homeostat.desired.platform.RawPeer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.api.io.TempDir;

/** Against a real etcd. */
@EnabledIf("io.homeostat.controlplane.EtcdCluster#isInstalled")
@Timeout(600)
class EtcdKeyValuesTest {
    private static final Duration PATIENCE = Duration.ofMinutes(3);

    @TempDir
    static Path shared;

    private static EtcdCluster etcd;

    @TempDir
    Path directory;

    private KeyValues keys;
    private String prefix;

    @BeforeAll
    static void startEtcd() throws IOException {
        etcd = EtcdCluster.start(shared, 1);
    }

    @AfterAll
    static void endEtcd() throws InterruptedException {
        etcd.close();
    }

    @BeforeEach
    void connect() {
        keys = new EtcdKeyValues(config(etcd.endpoints(), null, null));
        prefix = "/" + UUID.randomUUID() + "/";
    }

    @AfterEach
    void disconnect() {
        keys.close();
    }

    private static Etcd config(List<String> endpoints, @Nullable Login login, @Nullable Tls tls) {
        return new Etcd(ImmutableList.copyOf(endpoints), "/homeostat", login, tls);
    }

    private long put(String key, String value) throws Exception {
        return keys.commit(ImmutableList.of(), ImmutableList.of(write(key, value, KeyValues.NO_LEASE)))
                .orElseThrow();
    }

    private Write write(String key, String value, long lease) {
        return new Write.Put(prefix + key, ByteString.copyFromUtf8(value), lease);
    }

    private String value(String key) throws Exception {
        return found(key).value().toStringUtf8();
    }

    private Entry found(String key) throws Exception {
        return Objects.requireNonNull(keys.list(prefix).entries().get(prefix + key));
    }

    @Test
    void aListingThatTakesTooMuchMemoryIsRefused() throws Exception {
        put("a", "1");
        try (KeyValues small = new EtcdKeyValues(config(etcd.endpoints(), null, null), 500)) {
            assertEquals(1, small.list(prefix).entries().size());
            assertThrows(KeyValuesException.class, () -> small.list(prefix, 100));
            put("b", "2".repeat(100));

            assertEquals(
                    KeyValuesException.Kind.FAILED,
                    assertThrows(KeyValuesException.class, () -> small.list(prefix))
                            .kind());
        }
    }

    @Test
    void ofAListingThatTakesTooMuchMemoryTheLargestAreLeftOutThatMayBe() throws Exception {
        put("a", "1");
        put("b", "2".repeat(1200));
        put("c", "3".repeat(900));
        put("set", "4".repeat(1500));
        try (KeyValues small = new EtcdKeyValues(config(etcd.endpoints(), null, null), 4000)) {
            Listing listing = small.list(prefix, key -> !key.equals(prefix + "set"));

            assertEquals(
                    Set.of(prefix + "a", prefix + "c", prefix + "set"),
                    listing.entries().keySet());
            assertEquals(Set.of(prefix + "b"), listing.leftOut().keySet());
        }
    }

    /** They are listed by pages, each of which has to fit into a message. */
    @Test
    void manyLongValuesAreListedToo() throws Exception {
        String value = "1".repeat(1 << 20);
        for (int i = 0; i < 20; i++) {
            put("long" + i, value);
        }

        assertEquals(20, keys.list(prefix).entries().size());
    }

    @Test
    void aMemberThatFloodsIsDisconnected() throws Exception {
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                RawPeer member = RawPeer.tcp(server, RawPeer.frame(RawPeer.PING, 0, 0, new byte[8]));
                KeyValues own =
                        new EtcdKeyValues(config(List.of("http://127.0.0.1:" + server.getLocalPort()), null, null))) {
            Thread asking = Thread.startVirtualThread(() -> assertThrows(Exception.class, () -> own.get("whatever")));
            member.disconnected().get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
            asking.interrupt();
        }
    }

    @Test
    void whatIsListedIsAllThatBeginsSoHoweverMuchItIs() throws Exception {
        assertTrue(keys.list(prefix).entries().isEmpty());
        ImmutableList.Builder<Write> writes = ImmutableList.builder();
        for (int i = 0; i < 2203; i++) {
            writes.add(write("k" + i, "v" + i, KeyValues.NO_LEASE));
        }
        for (List<Write> some : Lists.partition(writes.build(), 100)) {
            keys.commit(ImmutableList.of(), ImmutableList.copyOf(some)).orElseThrow();
        }
        Listing listing = keys.list(prefix);
        assertEquals(2203, listing.entries().size());
        assertEquals("v77", value("k77"));
        assertEquals(1, keys.list(prefix + "k2202").entries().size());
        assertEquals(found("k12"), keys.get(prefix + "k12").orElseThrow(), "and none of those that begin so");
        assertEquals(Optional.empty(), keys.get(prefix + "k"));
    }

    @Test
    void aTransactionHappensOnlyUnderItsConditions() throws Exception {
        long made = put("a", "1");
        long changed = put("a", "2");
        Entry entry = found("a");
        assertEquals(List.of(made, changed), List.of(entry.created(), entry.modified()));
        assertNotEquals(made, changed);
        ImmutableList<Write> third = ImmutableList.of(write("a", "3", KeyValues.NO_LEASE));
        assertEquals(
                OptionalLong.empty(),
                keys.commit(ImmutableList.of(new Condition.ModifiedIn(prefix + "a", made)), third));
        assertEquals(
                OptionalLong.empty(), keys.commit(ImmutableList.of(new Condition.CreatedIn(prefix + "a", 0)), third));
        assertEquals("2", value("a"));
        assertTrue(keys.commit(
                        ImmutableList.of(
                                new Condition.CreatedIn(prefix + "a", made), new Condition.ModifiedIn(prefix + "b", 0)),
                        third)
                .isPresent());
        assertEquals("3", value("a"));
        keys.commit(
                ImmutableList.of(), ImmutableList.of(new Write.Delete(prefix + "a"), new Write.Delete(prefix + "c")));
        assertTrue(keys.list(prefix).entries().isEmpty());
    }

    @Test
    void aKeyIsReadAsItWasInARevision() throws Exception {
        long before = put("b", "1");
        long made = put("a", "1");
        put("a", "2");

        assertEquals("1", keys.get(prefix + "a", made).orElseThrow().value().toStringUtf8());
        assertEquals(
                "2",
                keys.get(prefix + "a", KeyValues.NEWEST).orElseThrow().value().toStringUtf8());
        assertEquals(Optional.empty(), keys.get(prefix + "a", before));
    }

    @Test
    void aWatchTellsEveryChangeAfterARevision() throws Exception {
        put("a", "1");
        long second = put("a", "2");
        put("b", "1");
        Heard heard = new Heard();
        try (KeyValues.Watching watching = keys.watch(prefix, second, heard)) {
            heard.await("b=1");
            long third = put("a", "3");
            heard.await("a=3");
            assertEquals(third, heard.revision);
            keys.commit(ImmutableList.of(), ImmutableList.of(new Write.Delete(prefix + "b")));
            heard.await("-b");
        }
        assertEquals(List.of("b=1", "a=3", "-b"), heard.told);
    }

    /** Etcd tells those that are behind a thousand changes at a time. */
    @Test
    void whoIsBehindHearsHowFarItWasTold() throws Exception {
        int changes = 1500;
        List<Entry> told = new CopyOnWriteArrayList<>();
        List<Long> ahead = new CopyOnWriteArrayList<>();
        Listener listener = new Listener() {
            @Override
            public void changed(ImmutableList<Entry> put, ImmutableList<String> deleted, long revision) {
                ahead.add(revision - put.getLast().modified());
                told.addAll(put);
            }

            @Override
            public void ended(KeyValuesException failure) {
                throw new IllegalStateException(failure);
            }
        };
        // One of its own: others would wait for so many changes.
        try (EtcdCluster one = EtcdCluster.start(directory.resolve("one"), 1);
                KeyValues own = new EtcdKeyValues(config(one.endpoints(), null, null))) {
            await().atMost(PATIENCE)
                    .ignoreExceptions()
                    .until(() -> own.list(prefix).revision() > 0);
            long before = own.list(prefix).revision();
            String last = String.valueOf(changes - 1);
            for (int i = 0; i < changes; i++) {
                own.commit(ImmutableList.of(), ImmutableList.of(write("a", String.valueOf(i), KeyValues.NO_LEASE)))
                        .orElseThrow();
            }
            try (KeyValues.Watching watching = own.watch(prefix, before, listener)) {
                await().atMost(PATIENCE)
                        .until(() -> !told.isEmpty()
                                && told.getLast().value().toStringUtf8().equals(last));
            }
        }
        assertEquals(Set.of(0L), Set.copyOf(ahead));
    }

    @Test
    void aWatchOfWhatWasCompactedSaysSo() throws Exception {
        // One of its own: others watch from revisions that would be gone.
        try (EtcdCluster one = EtcdCluster.start(directory.resolve("one"), 1);
                KeyValues own = new EtcdKeyValues(config(one.endpoints(), null, null));
                Client client = Client.builder()
                        .endpoints(one.endpoints().toArray(String[]::new))
                        .build()) {
            await().atMost(PATIENCE)
                    .ignoreExceptions()
                    .until(() -> own.list(prefix).revision() > 0);
            ImmutableList<Write> write = ImmutableList.of(write("a", "1", KeyValues.NO_LEASE));
            long first = own.commit(ImmutableList.of(), write).orElseThrow();
            long last = own.commit(ImmutableList.of(), write).orElseThrow();
            client.getKVClient().compact(last).get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
            Heard heard = new Heard();
            try (KeyValues.Watching watching = own.watch(prefix, first - 1, heard)) {
                assertEquals(KeyValuesException.Kind.COMPACTED, heard.end().kind());
            }
        }
    }

    @Test
    void whatWasWrittenWithALeaseGoesWithIt() throws Exception {
        long lease = keys.grant(Duration.ofSeconds(60));
        keys.commit(ImmutableList.of(), ImmutableList.of(write("a", "1", lease)));
        assertTrue(keys.renew(lease));
        keys.revoke(lease);
        assertTrue(keys.list(prefix).entries().isEmpty());
        assertFalse(keys.renew(lease));
        keys.revoke(lease);
    }

    @Test
    void oneLeadsAtATimeAndTheNextOneWhenItsLeaseIsOver() throws Exception {
        long one = keys.grant(Duration.ofSeconds(60));
        Leadership first = keys.campaign(prefix + "leader", one, "one");
        long two = keys.grant(Duration.ofSeconds(60));
        CompletableFuture<Leadership> next = new CompletableFuture<>();
        Thread.ofVirtual().start(() -> {
            try {
                next.complete(keys.campaign(prefix + "leader", two, "two"));
            } catch (KeyValuesException | InterruptedException e) {
                next.completeExceptionally(e);
            }
        });
        await().atMost(PATIENCE)
                .until(() -> keys.list(prefix + "leader").entries().size() == 2);
        assertFalse(next.isDone());
        ImmutableList<Write> write = ImmutableList.of(write("a", "1", KeyValues.NO_LEASE));
        assertTrue(keys.commit(ImmutableList.of(first.holds()), write).isPresent());
        keys.revoke(one);
        Leadership second = next.get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
        assertTrue(keys.commit(ImmutableList.of(first.holds()), write).isEmpty());
        assertTrue(keys.commit(ImmutableList.of(second.holds()), write).isPresent());
    }

    @Test
    void nobodyThereIsSaidWithTheEndpoint() {
        try (KeyValues nowhere = new EtcdKeyValues(config(List.of("http://127.0.0.1:1"), null, null))) {
            KeyValuesException failure = assertThrows(KeyValuesException.class, () -> nowhere.list(prefix));
            assertEquals(KeyValuesException.Kind.UNAVAILABLE, failure.kind());
            assertTrue(
                    failure.getMessage().startsWith("could not list " + prefix + " in etcd at http://127.0.0.1:1: "),
                    failure.getMessage());
            Heard heard = new Heard();
            nowhere.close();
            nowhere.watch(prefix, 0, heard).close();
            assertEquals(KeyValuesException.Kind.UNAVAILABLE, heard.end().kind());
        }
    }

    @Test
    void anEtcdThatDoesNotStartSaysWhy() {
        IOException failure =
                assertThrows(IOException.class, () -> EtcdCluster.start(directory.resolve("wrong"), 1, "--frob"));
        assertTrue(String.valueOf(failure.getMessage()).contains("frob"), failure::getMessage);
    }

    @Test
    void whatIsTooLargeIsTold() {
        String large = "x".repeat(3 << 20);
        KeyValuesException failure = assertThrows(KeyValuesException.class, () -> put("a", large));
        assertFalse(failure.getMessage().contains("xxx"), failure.getMessage());
        assertNotEquals(KeyValuesException.Kind.UNAVAILABLE, failure.kind());
    }

    @Test
    void aStoreThatIsFullIsToldWithTheRemedy() throws Exception {
        try (EtcdCluster full = EtcdCluster.start(directory, 1, "--quota-backend-bytes", "100000");
                KeyValues small = new EtcdKeyValues(config(full.endpoints(), null, null))) {
            KeyValuesException failure = assertThrows(
                    KeyValuesException.class,
                    () -> small.commit(
                            ImmutableList.of(), ImmutableList.of(write("a", "x".repeat(200_000), KeyValues.NO_LEASE))));
            assertEquals(KeyValuesException.Kind.EXHAUSTED, failure.kind());
            assertTrue(
                    failure.getMessage()
                            .endsWith("database space exceeded; if it is full, compact and defragment it or enlarge"
                                    + " its --quota-backend-bytes, and then disarm its alarm (etcdctl alarm disarm)"),
                    failure.getMessage());
        }
    }

    @Test
    void membersAreAskedOverTlsAndProveWhoTheyAre() throws Exception {
        TestAuthority authority = new TestAuthority("etcd");
        TestAuthority.Issued server = authority.issue("127.0.0.1");
        Path certificate = server.writeCertificate(directory.resolve("server.pem"));
        Path key = server.writeKey(directory.resolve("server.key"));
        Path ca = authority.writeCertificate(directory.resolve("ca.pem"));
        TestAuthority.Issued client = authority.issue("machine");
        Tls tls = new Tls(
                ca.toString(),
                client.writeCertificate(directory.resolve("client.pem")).toString(),
                client.writeKey(directory.resolve("client.key")).toString());
        try (EtcdCluster secured = EtcdCluster.start(
                        directory.resolve("secured"),
                        1,
                        "--cert-file",
                        certificate.toString(),
                        "--key-file",
                        key.toString(),
                        "--client-cert-auth",
                        "--trusted-ca-file",
                        ca.toString());
                KeyValues known = new EtcdKeyValues(config(secured.endpoints(), null, tls));
                KeyValues unknown =
                        new EtcdKeyValues(config(secured.endpoints(), null, new Tls(ca.toString(), null, null)))) {
            known.commit(ImmutableList.of(), ImmutableList.of(write("a", "1", KeyValues.NO_LEASE)))
                    .orElseThrow();
            assertEquals(1, known.list(prefix).entries().size());
            assertThrows(KeyValuesException.class, () -> unknown.list(prefix));

            // Certificates are replaced while agents run.
            TestAuthority.Issued stranger = new TestAuthority("stranger").issue("machine");
            Path mine = stranger.writeCertificate(directory.resolve("mine.pem"));
            Path mineKey = stranger.writeKey(directory.resolve("mine.key"));
            try (KeyValues renewed = new EtcdKeyValues(
                    config(secured.endpoints(), null, new Tls(ca.toString(), mine.toString(), mineKey.toString())))) {
                KeyValuesException refused = assertThrows(KeyValuesException.class, () -> renewed.list(prefix));
                assertTrue(refused.getMessage().contains("those of sources.etcd.tls fit?"), refused.getMessage());
                client.writeCertificate(mine);
                client.writeKey(mineKey);
                await().atMost(PATIENCE)
                        .ignoreExceptions()
                        .until(() -> renewed.list(prefix).entries().size() == 1);
            }
        }
        try (KeyValues without = new EtcdKeyValues(
                config(List.of("https://127.0.0.1:1"), null, new Tls("/nowhere/ca.pem", null, null)))) {
            KeyValuesException failure = assertThrows(KeyValuesException.class, () -> without.list(prefix));
            assertTrue(failure.getMessage().contains("sources.etcd.tls"), failure.getMessage());
        }
    }

    @Test
    void aPasswordIsReadAgainWhenItWasChanged() throws Exception {
        try (EtcdCluster own = EtcdCluster.start(directory.resolve("own"), 1);
                Client administrator = Client.builder()
                        .endpoints(own.endpoints().toArray(String[]::new))
                        .build()) {
            administrator.getAuthClient().userAdd(bytes("root"), bytes("top")).get();
            administrator
                    .getAuthClient()
                    .userGrantRole(bytes("root"), bytes("root"))
                    .get();
            administrator.getAuthClient().authEnable().get();
            Path file = directory.resolve("password");
            Login login = new Login("root", file.toString());
            try (KeyValues secured = new EtcdKeyValues(config(own.endpoints(), login, null))) {
                KeyValuesException missing = assertThrows(KeyValuesException.class, () -> secured.list(prefix));
                assertTrue(missing.getMessage().contains(file + " (sources.etcd.login.passwordFile)"));
                Files.writeString(file, "wrong");
                KeyValuesException refused = assertThrows(KeyValuesException.class, () -> secured.list(prefix));
                assertFalse(refused.getMessage().contains("wrong"), refused.getMessage());
                Files.writeString(file, "top\n");
                assertTrue(secured.list(prefix).entries().isEmpty());
            }
            try (KeyValues nobody = new EtcdKeyValues(config(own.endpoints(), null, null))) {
                assertThrows(KeyValuesException.class, () -> nobody.list(prefix));
            }
        }
    }

    @Test
    void aMemberThatIsKilledIsDoneWithout() throws Exception {
        try (EtcdCluster three = EtcdCluster.start(directory.resolve("three"), 3);
                KeyValues cluster = new EtcdKeyValues(config(three.endpoints(), null, null))) {
            await().atMost(PATIENCE)
                    .ignoreExceptions()
                    .until(() -> cluster.list(prefix).revision() > 0);
            Heard heard = new Heard();
            long revision = cluster.list(prefix).revision();
            Optional<KeyValues.Watching> watching = Optional.of(cluster.watch(prefix, revision, heard));
            for (int i = 0; i < 3; i++) {
                three.kill(i);
                String value = "after " + i;
                await().atMost(PATIENCE)
                        .ignoreExceptions()
                        .until(() -> cluster.commit(
                                        ImmutableList.of(), ImmutableList.of(write("a", value, KeyValues.NO_LEASE)))
                                .isPresent());
                heard.awaitOrWatchAgain("a=" + value, cluster);
                three.start(i);
                await().atMost(PATIENCE)
                        .ignoreExceptions()
                        .until(() -> cluster.list(prefix).revision() > 0);
            }
            watching.orElseThrow().close();
        }
    }

    private static ByteSequence bytes(String text) {
        return ByteSequence.from(text, StandardCharsets.UTF_8);
    }

    private final class Heard implements KeyValues.Listener {
        final List<String> told = new CopyOnWriteArrayList<>();
        final List<KeyValuesException> ends = new CopyOnWriteArrayList<>();
        volatile long revision;

        @Override
        public void changed(ImmutableList<Entry> put, ImmutableList<String> deleted, long at) {
            // First: whoever waits for what is told looks at it then.
            revision = at;
            put.forEach(entry -> told.add(
                    entry.key().substring(prefix.length()) + "=" + entry.value().toStringUtf8()));
            deleted.forEach(key -> told.add("-" + key.substring(prefix.length())));
        }

        @Override
        public void ended(KeyValuesException failure) {
            ends.add(failure);
        }

        void await(String what) {
            Awaitility.await().atMost(PATIENCE).until(() -> told.contains(what));
        }

        void awaitOrWatchAgain(String what, KeyValues keys) {
            Awaitility.await().atMost(PATIENCE).until(() -> {
                if (!ends.isEmpty()) {
                    ends.clear();
                    keys.watch(prefix, revision, this);
                }
                return told.contains(what);
            });
        }

        KeyValuesException end() {
            Awaitility.await().atMost(PATIENCE).until(() -> !ends.isEmpty());
            return ends.getFirst();
        }
    }
}
