package io.homeostat.reconcile.agent.fleet;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import com.google.protobuf.ByteString;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.ClientBuilder;
import io.etcd.jetcd.options.DeleteOption;
import io.homeostat.controlplane.EtcdCluster;
import io.homeostat.desired.etcd.EtcdKeyValues;
import io.homeostat.desired.etcd.EtcdUsers;
import io.homeostat.desired.etcd.KeyValues;
import io.homeostat.desired.etcd.KeyValues.Leadership;
import io.homeostat.desired.etcd.KeyValues.Write;
import io.homeostat.desired.etcd.KeyValuesException;
import io.homeostat.desired.fleet.FleetKeys;
import io.homeostat.desired.fleet.SetReader;
import io.homeostat.desired.model.AgentConfig.Etcd;
import io.homeostat.desired.model.AgentConfig.Login;
import io.homeostat.desired.model.AgentConfig.SignedSets;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.remote.LargeSetLock;
import io.homeostat.desired.signature.TrustedKeys;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.sqlite.StateStores;
import io.homeostat.desired.yaml.Choice;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.fleet.FleetAccess;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.SecureRandom;
import java.time.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.SplittableRandom;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** What the users of a fleet may do in a real etcd that asks for passwords: what they have to, and no more. */
@EnabledIf("io.homeostat.controlplane.EtcdCluster#isInstalled")
@Timeout(600)
@Execution(ExecutionMode.SAME_THREAD)
class FleetAccessTest {
    private static final Duration PATIENCE = Duration.ofMinutes(3);
    private static final FleetKeys KEYS = new FleetKeys("/homeostat");
    private static final ByteSequence ROOT = bytes("root");

    @TempDir
    static Path etcdDirectory;

    /** Users have the names that the product gives them, and are the same for all prefixes: one test at a time, and no others. */
    private static EtcdCluster etcd;

    @TempDir
    Path directory;

    private final List<String> said = new ArrayList<>();
    private final List<KeyValues> connections = new ArrayList<>();
    private boolean secured;
    private Path passwords;

    @BeforeAll
    static void startEtcd() throws IOException {
        etcd = EtcdCluster.start(etcdDirectory, 1);
    }

    @AfterAll
    static void endEtcd() throws InterruptedException {
        etcd.close();
    }

    @BeforeEach
    void start() {
        passwords = directory.resolve("passwords");
    }

    /** Leaves an etcd without users, roles and keys. */
    @AfterEach
    void end() throws Exception {
        connections.forEach(KeyValues::close);
        if (secured) {
            try (Client administrator = client().user(ROOT).password(ROOT).build()) {
                administrator.getAuthClient().authDisable().get();
            }
        }
        try (Client anybody = client().build()) {
            for (String user : anybody.getAuthClient().userList().get().getUsers()) {
                anybody.getAuthClient().userDelete(bytes(user)).get();
            }
            for (String role : anybody.getAuthClient().roleList().get().getRoles()) {
                anybody.getAuthClient().roleDelete(bytes(role)).get();
            }
            anybody.getKVClient()
                    .delete(bytes("/"), DeleteOption.builder().isPrefix(true).build())
                    .get();
        }
    }

    private static ClientBuilder client() {
        return Client.builder().endpoints(etcd.endpoints().toArray(String[]::new));
    }

    private static ByteSequence bytes(String text) {
        return ByteSequence.from(ByteString.copyFromUtf8(text));
    }

    private Etcd config(@Nullable Login login) {
        return new Etcd(ImmutableList.copyOf(etcd.endpoints()), KEYS.prefix(), login, null);
    }

    private FleetAccess access(EtcdUsers users, boolean renews) {
        said.clear();
        return new FleetAccess(users, KEYS, passwords, renews, new SecureRandom(), said::add);
    }

    /** Makes all users, then has etcd ask for passwords. */
    private void secure() throws Exception {
        try (EtcdUsers users = new EtcdUsers(config(null))) {
            FleetAccess access = access(users, false);
            access.fleet();
            access.machine("vm-1");
            access.machine("vm-10");
        }
        try (Client administrator = client().build()) {
            administrator.getAuthClient().userAdd(ROOT, ROOT).get();
            administrator.getAuthClient().userGrantRole(ROOT, ROOT).get();
            administrator.getAuthClient().authEnable().get();
            secured = true;
        }
    }

    private KeyValues as(String party) {
        KeyValues connection = new EtcdKeyValues(config(new Login(
                "homeostat-" + party, passwords.resolve(party + ".password").toString())));
        connections.add(connection);
        return connection;
    }

    private static FleetReporter reporter(KeyValues machine, String role) {
        return new FleetReporter(
                machine,
                KEYS,
                "vm-1",
                new ReportedWorkloads(),
                () -> new Reporter.About("1.0", ImmutableSortedMap.of("role", role), "etcd", "1", 1, 0),
                Clock.systemUTC(),
                new Random(1),
                Duration.ofMillis(50),
                FleetReporter.LEASE,
                (labels, revision) -> {});
    }

    private static void put(KeyValues store, String key) throws Exception {
        put(store, key, ByteString.copyFromUtf8("{}"));
    }

    private static void put(KeyValues store, String key, ByteString value) throws Exception {
        store.commit(ImmutableList.of(), ImmutableList.of(new Write.Put(key, value, KeyValues.NO_LEASE)))
                .orElseThrow();
    }

    private static void assertDenied(KeyValues store, String... keys) {
        for (String key : keys) {
            KeyValuesException refused = assertThrows(KeyValuesException.class, () -> put(store, key), key);
            assertEquals(KeyValuesException.Kind.DENIED, refused.kind(), key);
        }
    }

    @Test
    void aMachineMayReportOfItselfAndNothingElse() throws Exception {
        secure();
        KeyValues machine = as("machine-vm-1");

        try (FleetReporter reporter = reporter(machine, "web")) {
            reporter.start();
            KeyValues reader = as("reader");
            await().atMost(PATIENCE)
                    .until(() -> reader.list(KEYS.report("vm-1")).entries().containsKey(KEYS.report("vm-1")));
            assertEquals("", reporter.problem());
        }
        assertTrue(
                as("reader").list(KEYS.reports()).entries().isEmpty(), "whoever ends on purpose takes its report away");
        // The next start finds its registration, and has new labels.
        try (FleetReporter again = reporter(machine, "db")) {
            again.start();
            await().atMost(PATIENCE)
                    .until(() -> as("reader").list(KEYS.machine("vm-1")).entries().values().stream()
                            .anyMatch(registered ->
                                    registered.value().toStringUtf8().contains("\"db\"")));
        }

        assertDenied(
                machine,
                KEYS.report("vm-10"),
                KEYS.machine("vm-10"),
                KEYS.rollout("web"),
                KEYS.order("web"),
                KEYS.set(),
                KEYS.leader());
        assertThrows(KeyValuesException.class, () -> machine.list(KEYS.reports()));
        assertThrows(KeyValuesException.class, () -> machine.get(KEYS.machine("vm-10")));
    }

    /** As docs/ui.md has it, for a page that shows the fleet. */
    @Test
    void aMachineThatMayReadTheFleetChangesNothingMore() throws Exception {
        secure();
        assertThrows(KeyValuesException.class, () -> as("machine-vm-1").list(KEYS.prefix() + "/"));
        Path root = Files.writeString(directory.resolve("root"), "root");
        try (EtcdUsers users = new EtcdUsers(config(new Login("root", root.toString())))) {
            assertTrue(users.grant("homeostat-machine-vm-1", "homeostat-reader"));
        }

        KeyValues machine = as("machine-vm-1");
        put(as("machine-vm-10"), KEYS.machine("vm-10"));
        put(machine, KEYS.report("vm-1"));
        assertEquals(
                ImmutableList.of(KEYS.machine("vm-10"), KEYS.report("vm-1")),
                machine.list(KEYS.prefix() + "/").entries().keySet().asList());
        assertDenied(
                machine,
                KEYS.report("vm-10"),
                KEYS.machine("vm-10"),
                KEYS.rollout("web"),
                KEYS.order("web"),
                KEYS.set(),
                KEYS.leader());
    }

    @Test
    void aMachineFollowsTheSetAndRollouts() throws Exception {
        secure();
        List<ImmutableSortedMap<String, String>> states = new CopyOnWriteArrayList<>();
        Layout layout = new Layout(directory.resolve("s"), directory.resolve("r"), "test");
        try (StateStore store =
                StateStores.openForWriting(layout, Clock.systemUTC()).store()) {
            PublishedSource source = new PublishedSource(
                    SourceName.ETCD,
                    "etcd:" + KEYS.set(),
                    new SetReader(new SignedSets(false, ImmutableList.of(), "default"), TrustedKeys.NONE),
                    () -> Choice.ALL,
                    store,
                    Clock.systemUTC(),
                    new ReentrantLock(),
                    () -> {});
            source.refresh();
            Thread follower = Thread.ofVirtual()
                    .start(new EtcdFollower(
                            as("machine-vm-1"),
                            KEYS,
                            source,
                            new LargeSetLock(),
                            states::add,
                            EtcdFollower.LOOK,
                            Clock.systemUTC(),
                            new SplittableRandom(1)));
            try {
                // Told by the watch, not by the listing.
                await().atMost(PATIENCE).until(() -> !states.isEmpty());
                put(
                        as("publisher"),
                        KEYS.set(),
                        PublishedSourceTest.set("", 7, "web").content());
                put(as("controller"), KEYS.rollout("web"));
                await().atMost(PATIENCE).until(() -> states.contains(ImmutableSortedMap.of("web", "{}")));
                await().atMost(PATIENCE)
                        .until(() -> store.publishedSets().stream()
                                .anyMatch(set -> set.set().isPresent()));
            } finally {
                follower.interrupt();
                assertTrue(follower.join(PATIENCE));
            }
        }
    }

    @Test
    void eachRoleMayDoItsWorkOnly() throws Exception {
        secure();
        KeyValues machine = as("machine-vm-1");
        put(machine, KEYS.machine("vm-1"));
        put(machine, KEYS.report("vm-1"));

        KeyValues controller = as("controller");
        long lease = controller.grant(Duration.ofSeconds(30));
        Leadership leadership = controller.campaign(KEYS.leader(), lease, "one");
        assertTrue(controller
                .commit(
                        ImmutableList.of(
                                leadership.holds(), new KeyValues.Condition.ModifiedIn(KEYS.rollout("web"), 0)),
                        ImmutableList.of(
                                new Write.Put(KEYS.rollout("web"), ByteString.copyFromUtf8("{}"), KeyValues.NO_LEASE)))
                .isPresent());
        assertTrue(controller.renew(lease));
        put(controller, KEYS.newest());
        controller.revoke(lease);
        assertDenied(controller, KEYS.set(), KEYS.order("web"), KEYS.machine("vm-1"), KEYS.report("vm-1"));

        KeyValues operator = as("operator");
        put(operator, KEYS.order("web"));
        assertDenied(operator, KEYS.set(), KEYS.rollout("web"), KEYS.leader());
        operator.commit(
                ImmutableList.of(new KeyValues.Condition.CreatedIn(KEYS.report("vm-10"), 0)),
                ImmutableList.of(new Write.Delete(KEYS.machine("vm-1")), new Write.Delete(KEYS.report("vm-1"))));

        put(as("publisher"), KEYS.set());
        assertDenied(as("publisher"), KEYS.rollout("web"), KEYS.order("web"), KEYS.machine("vm-1"));

        assertEquals(
                ImmutableList.of(KEYS.newest(), KEYS.order("web"), KEYS.rollout("web"), KEYS.set()),
                as("reader").list(KEYS.prefix() + "/").entries().keySet().asList());
        assertDenied(as("reader"), KEYS.set(), KEYS.order("web"), KEYS.rollout("web"), KEYS.report("vm-1"));
        assertThrows(KeyValuesException.class, () -> as("reader").list("/other/"), "it is another fleet's");
    }

    @Test
    void whatIsThereIsLeftAsItIs() throws Exception {
        try (EtcdUsers users = new EtcdUsers(config(null))) {
            access(users, false).machine("vm-1");
            Path file = passwords.resolve("machine-vm-1.password");
            assertEquals(
                    ImmutableList.of(
                            "role homeostat-machine-vm-1 was defined",
                            "user homeostat-machine-vm-1 was made, its password is in " + file,
                            "user homeostat-machine-vm-1 got its role"),
                    said);
            assertEquals("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(file)));
            assertEquals("rwx------", PosixFilePermissions.toString(Files.getPosixFilePermissions(passwords)));
            String password = Files.readString(file);
            assertFalse(String.join("", said).contains(password.strip()), "a password is no matter of a terminal");

            access(users, false).machine("vm-1");
            assertEquals(
                    ImmutableList.of(
                            "role homeostat-machine-vm-1 is as it should be",
                            "user homeostat-machine-vm-1 is there, its password was left as it is"),
                    said);
            assertEquals(password, Files.readString(file));

            // Somebody has given the role more than it needs.
            users.define(
                    "homeostat-machine-vm-1",
                    ImmutableList.of(new EtcdUsers.Grant(KEYS.prefix() + "/", true, EtcdUsers.Access.READ_AND_WRITE)));
            access(users, false).machine("vm-1");
            assertEquals("role homeostat-machine-vm-1 was defined", said.getFirst());
        }
        secure();
        assertDenied(as("machine-vm-1"), KEYS.rollout("web"));
    }

    @Test
    void aPasswordIsReplacedByThatOfItsFile() throws Exception {
        secure();
        Path file = passwords.resolve("reader.password");
        Files.writeString(file, "another one");
        assertThrows(KeyValuesException.class, () -> as("reader").list(KEYS.set()));
        Login root = new Login(
                "root", Files.writeString(directory.resolve("root"), "root").toString());

        try (EtcdUsers users = new EtcdUsers(config(root))) {
            access(users, true).fleet();
            assertTrue(said.contains("user homeostat-reader has the password in " + file), said::toString);
            assertTrue(as("reader").list(KEYS.set()).entries().isEmpty());

            Files.writeString(file, "\n");
            CommandFailure empty =
                    assertThrows(CommandFailure.class, () -> access(users, true).fleet());
            assertTrue(String.valueOf(empty.getMessage()).contains(file + " is empty"), empty::getMessage);
        }
        try (EtcdUsers users = new EtcdUsers(config(new Login(
                "homeostat-operator", passwords.resolve("operator.password").toString())))) {
            KeyValuesException refused = assertThrows(
                    KeyValuesException.class, () -> access(users, false).machine("vm-2"));
            assertEquals(KeyValuesException.Kind.DENIED, refused.kind());
        }
    }

    @Test
    void aDirectoryThatCannotBeWrittenToIsNamed() throws Exception {
        Files.writeString(passwords, "no directory");
        try (EtcdUsers users = new EtcdUsers(config(null))) {
            CommandFailure failure = assertThrows(
                    CommandFailure.class, () -> access(users, false).machine("vm-1"));
            assertTrue(
                    String.valueOf(failure.getMessage())
                            .contains(passwords.resolve("machine-vm-1.password").toString()),
                    failure::getMessage);
            assertFalse(users.hasUser("homeostat-machine-vm-1"), "nobody would know its password");
        }
    }
}
