package io.homeostat.actuate.launch;

import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSortedMap;
import com.google.common.io.MoreFiles;
import com.google.common.io.Resources;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.ForeignMount;
import io.homeostat.actuate.SecureDirectories;
import io.homeostat.actuate.TestBed;
import io.homeostat.actuate.launch.Launcher.LaunchRequest;
import io.homeostat.desired.model.Probe;
import io.homeostat.desired.model.ProcessSettings;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.desired.state.sqlite.StateStores;
import io.homeostat.observe.Observation;
import io.homeostat.observe.process.Account;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.observe.process.UserSwitch;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Clock;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Programs of another user in a state directory as the agent makes it. Most of it only root can try. */
class LaunchAsUserTest {
    private static final String USER = "nobody";

    @TempDir
    Path root;

    private TestBed bed;
    private StateStore store;

    @BeforeEach
    void setUp() throws Exception {
        // JUnit's own directory is closed to others, as no directory above a state directory is.
        Files.setPosixFilePermissions(root, PosixFilePermissions.fromString("rwx--x--x"));
        bed = new TestBed(root.resolve("srv/homeostat"), root.resolve("run/homeostat"));
        store = StateStores.openForWriting(bed.layout, Clock.systemUTC()).store();
    }

    @AfterEach
    void tearDown() throws Exception {
        bed.close();
        store.close();
    }

    private static void onlyRoot() throws IOException {
        Assumptions.assumeTrue(Account.ourUid() == 0, "only root can become somebody else");
    }

    @Test
    void theProgramRunsAsThatUserWithTheUsersGroupsAndHome() throws Exception {
        onlyRoot();
        Account account = Account.find(USER).orElseThrow();
        Instance instance = launch(
                TestBed.PROCESS,
                USER,
                installed("id -u", "id -g", "id -ru", "echo $HOME $USER $LOGNAME $SHELL", "cat /proc/self/status"));
        bed.ended(instance);

        List<String> said = bed.log(TestBed.PROCESS).lines().toList();
        assertEquals(
                List.of(
                        Integer.toString(account.uid()),
                        Integer.toString(account.gid()),
                        Integer.toString(account.uid()),
                        account.home() + " " + USER + " " + USER + " " + account.shell()),
                said.subList(0, 4));
        assertTrue(said.contains("CapEff:\t0000000000000000"), said.toString());
        assertTrue(said.contains("Groups:\t" + account.gid() + " "), said.toString());
    }

    /** Waits as long as the agent does. */
    @Test
    @Tag("nightly")
    void aProgramThatItsUserHasMountedSomethingOverIsNotWaitedForForEver() throws Exception {
        onlyRoot();
        Path program = installed("exit 0");
        try (ForeignMount _ = ForeignMount.silent(program.resolveSibling("."))) {
            ActuationFailure failure =
                    assertThrows(ActuationFailure.class, () -> launch(TestBed.PROCESS, USER, program));

            String words = String.valueOf(failure.getMessage());
            assertTrue(words.endsWith(program + ": it can't be read within 10s"), words);
        }
    }

    @Test
    void groupsAreThoseOfTheUserAndThoseThatAreDeclared() throws Exception {
        onlyRoot();
        Account account = Account.find(USER).orElseThrow();
        ProcessSettings settings =
                new ProcessSettings(null, null, "daemon", ImmutableList.of("adm", "12345"), null, null, null);

        bed.ended(bed.launch(new LaunchRequest(
                bed.instance(TestBed.PROCESS),
                installed("id -un", "id -gn", "cat /proc/self/status"),
                ImmutableList.of(),
                ImmutableMap.of(),
                USER,
                settings)));

        List<String> said = bed.log(TestBed.PROCESS).lines().toList();
        assertEquals(List.of(USER, "daemon"), said.subList(0, 2));
        String adm = Files.readAllLines(Path.of("/etc/group")).stream()
                .filter(line -> line.startsWith("adm:"))
                .map(line -> line.split(":", -1)[2])
                .findFirst()
                .orElseThrow();
        String groups = said.stream()
                .filter(line -> line.startsWith("Groups:"))
                .findFirst()
                .orElseThrow();
        assertEquals(
                Set.of(adm, "12345", Integer.toString(account.gid())),
                Set.of(groups.substring("Groups:".length()).strip().split(" ")));
    }

    /** The loader would do as these variables say in any program of ours that had them, as root. */
    @Test
    void aCommandForTheProgramGetsItsEnvironmentOnlyWhenItIsThatUser() throws Exception {
        onlyRoot();
        Path traces = Files.createDirectory(root.resolve("traces"));
        Files.setPosixFilePermissions(traces, PosixFilePermissions.fromString("rwxrwxrwx"));
        Path done = traces.resolve("done");
        LaunchRequest program = new LaunchRequest(
                bed.instance(TestBed.PROCESS),
                installed("exit 0"),
                ImmutableList.of(),
                ImmutableMap.of(
                        "LD_DEBUG",
                        "statistics",
                        "LD_DEBUG_OUTPUT",
                        traces.resolve("ld").toString()),
                USER,
                new ProcessSettings(null, "0027", null, null, 5, null, ImmutableSortedMap.of("nofile", "100")));

        new ProgramCommand(
                        program,
                        new Probe.Exec(ImmutableList.of("sh", "-c", "umask > " + done + "; ulimit -n >> " + done)),
                        ImmutableList.of())
                .run(Duration.ofMinutes(1));

        assertEquals(List.of("0027", "100"), Files.readAllLines(done));
        int uid = Account.find(USER).orElseThrow().uid();
        try (Stream<Path> files = Files.list(traces)) {
            List<Path> all = files.toList();
            assertTrue(all.size() > 1, "the loader left no trace");
            for (Path file : all) {
                assertEquals(uid, uid(file), file.toString());
            }
        }
    }

    @Test
    void aCommandThatRunsAsRootHasNothingOfTheProgram() throws Exception {
        onlyRoot();
        Path theirs = Files.createDirectory(root.resolve("theirs"));
        Files.copy(Path.of("/bin/false").toRealPath(), theirs.resolve("sh"));
        Path done = root.resolve("done");
        LaunchRequest program = new LaunchRequest(
                bed.instance(TestBed.PROCESS),
                installed("exit 0"),
                ImmutableList.of(),
                ImmutableMap.of(
                        "PATH",
                        theirs.toString(),
                        "LD_PRELOAD",
                        theirs.resolve("lib.so").toString()),
                USER,
                new ProcessSettings(theirs.toString(), "0000", null, null, null, null, null));

        new ProgramCommand(
                        program,
                        new Probe.Exec(
                                ImmutableList.of(
                                        "sh", "-c", "(id -u; pwd; umask; tr '\\0' '\\n' < /proc/$$/environ) > " + done),
                                true),
                        ImmutableList.of())
                .run(Duration.ofMinutes(1));

        List<String> said = Files.readAllLines(done);
        assertEquals(List.of("0", "/", "0022"), said.subList(0, 3));
        assertEquals(
                Account.ours().environment().entrySet().stream()
                        .map(variable -> variable.getKey() + "=" + variable.getValue())
                        .collect(Collectors.toSet()),
                Set.copyOf(said.subList(3, said.size())));
    }

    /** At a terminal of ours it could type what root's shell then reads. */
    @Test
    void aCommandForTheProgramHasASessionOfItsOwn() throws Exception {
        onlyRoot();
        Path traces = Files.createDirectory(root.resolve("traces"));
        Files.setPosixFilePermissions(traces, PosixFilePermissions.fromString("rwxrwxrwx"));
        Path done = traces.resolve("done");
        LaunchRequest program = new LaunchRequest(
                bed.instance(TestBed.PROCESS), installed("exit 0"), ImmutableList.of(), ImmutableMap.of(), USER);
        ProgramCommand command = new ProgramCommand(
                program,
                new Probe.Exec(ImmutableList.of(
                        "sh", "-c", "echo $$ $(cut -d ' ' -f 6 /proc/$$/stat) > " + done + "; exit 4")),
                ImmutableList.of());

        ActuationFailure failure = assertThrows(ActuationFailure.class, () -> command.run(Duration.ofMinutes(1)));

        assertEquals(new FailureCause(FailureCause.Kind.EXITED, 4), failure.failureCause());
        assertEquals("the command sh exited with status 4" + UserSwitch.runAs("nobody"), TestBed.message(failure));
        String said = Files.readString(done).strip();
        assertTrue(said.matches("([0-9]+) \\1"), said);
    }

    @Test
    void aCommandForTheProgramIsKilledWithItsChildren() throws Exception {
        onlyRoot();
        Path traces = Files.createDirectory(root.resolve("traces"));
        Files.setPosixFilePermissions(traces, PosixFilePermissions.fromString("rwxrwxrwx"));
        Path pids = Files.createFile(traces.resolve("pids"));
        Files.setPosixFilePermissions(pids, PosixFilePermissions.fromString("rw-rw-rw-"));
        LaunchRequest program = new LaunchRequest(
                bed.instance(TestBed.PROCESS), installed("exit 0"), ImmutableList.of(), ImmutableMap.of(), USER);
        ProgramCommand command = new ProgramCommand(
                program,
                new Probe.Exec(ImmutableList.of("sh", "-c", "sleep 1000 & echo $! $$ > " + pids + "; wait")),
                ImmutableList.of());

        Thread running = Thread.ofVirtual()
                .start(() -> assertThrows(InterruptedException.class, () -> command.run(Duration.ofMinutes(1))));
        TestBed.soon().until(() -> Files.readString(pids).endsWith("\n"));
        running.interrupt();
        running.join();

        for (String pid : Files.readString(pids).strip().split(" ", -1)) {
            TestBed.soon()
                    .until(() -> bed.procFs
                            .stat(Long.parseLong(pid))
                            .filter(ProcFs.Stat::alive)
                            .isEmpty());
        }
    }

    @Test
    void aGroupThatDoesNotExistIsRefused() throws Exception {
        onlyRoot();
        ProcessSettings settings = new ProcessSettings(null, null, "no-such-group", null, null, null, null);

        ActuationFailure failure = assertThrows(
                ActuationFailure.class,
                () -> bed.launch(new LaunchRequest(
                        bed.instance(TestBed.PROCESS),
                        installed("exit 0"),
                        ImmutableList.of(),
                        ImmutableMap.of(),
                        null,
                        settings)));

        assertTrue(TestBed.message(failure).contains("no group no-such-group"), TestBed.message(failure));
    }

    @Test
    void aUserMayBeNamedByNumber() throws Exception {
        onlyRoot();
        int uid = Account.find(USER).orElseThrow().uid();
        bed.ended(launch(TestBed.PROCESS, Integer.toString(uid), installed("id -u")));

        assertEquals(uid + "\n", bed.log(TestBed.PROCESS));
    }

    @Test
    void theStateDirectoryAndTheLogAreTheUsersOwn() throws Exception {
        onlyRoot();
        Path state = bed.layout.workloadState(TestBed.PROCESS);
        bed.ended(launch(TestBed.PROCESS, USER, installed("echo out", "echo kept > " + state + "/file || exit 9")));

        int uid = Account.find(USER).orElseThrow().uid();
        assertEquals("out\n", bed.log(TestBed.PROCESS));
        assertEquals("kept\n", Files.readString(state.resolve("file")));
        assertAll(
                () -> assertEquals(uid, uid(state)),
                () -> assertEquals("rwx------", rights(state)),
                () -> assertEquals(uid, uid(bed.layout.log(TestBed.PROCESS))),
                () -> assertEquals("rw-------", rights(bed.layout.log(TestBed.PROCESS))));
    }

    @Test
    void theProgramReachesNothingElseInTheStateDirectory() throws Exception {
        onlyRoot();
        WorkloadId neighbour = WorkloadId.process("neighbour");
        bed.ended(launch(neighbour, null, installed("echo secret")));
        Path database = bed.layout.database();
        Instance instance = launch(
                TestBed.PROCESS,
                USER,
                installed(
                        "ls " + bed.layout.stateDir() + " && exit 1",
                        "cat " + database + " && exit 2",
                        "cat " + database + "-wal && exit 3",
                        "cat " + bed.layout.log(neighbour) + " && exit 4",
                        "ls " + bed.layout.workloadStates(neighbour.kind()) + " && exit 5",
                        "ls " + bed.layout.launches(TestBed.PROCESS) + " && exit 6",
                        "echo 0 9 > " + bed.layout.launches(TestBed.PROCESS) + "/x && exit 7",
                        "ls " + bed.layout.socket(TestBed.PLUGIN, "r1").getParent() + " && exit 8",
                        "exit 0"));

        assertEquals(0, bed.ended(instance).exit().code(), bed.log(TestBed.PROCESS));
        assertEquals("rw-------", rights(database));
        assertEquals("rwx--x--x", rights(bed.layout.stateDir()));
    }

    @Test
    void aPluginOfThatUserIsReachedAtItsUsualPlace() throws Exception {
        onlyRoot();
        String file = "io/homeostat/actuate/launch/SocketListener.class";
        Path copy = root.resolve("classes").resolve(file);
        Files.createDirectories(copy.getParent());
        Resources.asByteSource(Resources.getResource(file)).copyTo(MoreFiles.asByteSink(copy));
        Path java = Path.of(System.getProperty("java.home"), "bin", "java");
        Path program = installed("exec " + java + " -XX:+UseSerialGC -Xshare:auto -cp " + root.resolve("classes") + " "
                + SocketListener.class.getName() + " \"$@\"");
        Path socket = bed.layout.socket(TestBed.PLUGIN, "r1");

        Instance instance = launch(TestBed.PLUGIN, USER, program);

        TestBed.soon().until(() -> bed.plugins.listening(socket).equals(Observation.seen(true)));
        Path real = socket.toRealPath();
        assertEquals(Account.find(USER).orElseThrow().uid(), uid(real));
        bed.stop(instance, Duration.ofSeconds(20));
        assertFalse(Files.exists(socket, LinkOption.NOFOLLOW_LINKS));
        assertFalse(Files.exists(real));
    }

    @Test
    void aWorkloadThatChangesItsUserKeepsItsStateAndItsLog() throws Exception {
        onlyRoot();
        Path state = bed.layout.workloadState(TestBed.PROCESS);
        Path program = installed(
                "cd " + state + " || exit 1",
                "mkdir -p deep && echo $(id -u) >> deep/file || exit 2",
                "cat deep/file || exit 3");
        assertEquals(0, bed.ended(launch(TestBed.PROCESS, null, program)).exit().code());
        assertEquals(0, bed.ended(launch(TestBed.PROCESS, USER, program)).exit().code(), bed.log(TestBed.PROCESS));
        assertEquals(
                0, bed.ended(launch(TestBed.PROCESS, "daemon", program)).exit().code(), bed.log(TestBed.PROCESS));
        assertEquals(0, bed.ended(launch(TestBed.PROCESS, null, program)).exit().code(), bed.log(TestBed.PROCESS));

        int nobody = Account.find(USER).orElseThrow().uid();
        int daemon = Account.find("daemon").orElseThrow().uid();
        assertEquals(
                "0\n0\n" + nobody + "\n0\n" + nobody + "\n" + daemon + "\n0\n" + nobody + "\n" + daemon + "\n0\n",
                bed.log(TestBed.PROCESS));
        assertEquals(0, uid(state));
    }

    @Test
    void aFormerUserWhoHasLetEverybodyInDoesNotComeInAnyMore() throws Exception {
        onlyRoot();
        Path state = bed.layout.workloadState(TestBed.PROCESS);
        bed.ended(launch(TestBed.PROCESS, USER, installed("chmod 0777 " + state)));
        Path precious = Files.writeString(root.resolve("precious"), "");
        Path log = bed.layout.log(TestBed.PROCESS);

        bed.ended(launch(TestBed.PROCESS, "daemon", installed("echo one")));
        assertNotEquals(0, asNobody("ln -sf " + precious + " " + log));
        bed.ended(launch(TestBed.PROCESS, null, installed("echo two")));
        assertNotEquals(0, asNobody("ln -sf " + precious + " " + log));

        assertEquals("rwx------", rights(state));
        assertEquals("", Files.readString(precious));
    }

    /** In a directory that its user has opened to others, and opens again, it may come to be one at any time. */
    @Test
    void aLogThatIsALinkOrHasAnotherNameIsNotWrittenToAlsoWhenTheUserStays() throws Exception {
        onlyRoot();
        Path precious = Files.writeString(root.resolve("precious"), "");
        Path log = bed.layout.log(TestBed.PROCESS);
        bed.ended(launch(TestBed.PROCESS, null, installed("echo first")));

        Files.delete(log);
        Files.createSymbolicLink(log, precious);
        bed.ended(launch(TestBed.PROCESS, null, installed("echo second")));
        assertEquals("second\n", bed.log(TestBed.PROCESS));

        Files.delete(log);
        Files.createLink(log, precious);
        bed.ended(launch(TestBed.PROCESS, null, installed("echo third")));
        assertEquals("third\n", bed.log(TestBed.PROCESS));

        Files.delete(log);
        Files.createDirectories(log.resolve("inner"));
        bed.ended(launch(TestBed.PROCESS, null, installed("echo fourth")));
        assertEquals("fourth\n", bed.log(TestBed.PROCESS));

        assertEquals("", Files.readString(precious));
    }

    @Test
    void aPluginOfAnotherUserIsNotLedAwayByTheFileForItsErrors() throws Exception {
        onlyRoot();
        Path precious = Files.writeString(root.resolve("precious"), "");
        Path errors = bed.layout.workloadState(TestBed.PLUGIN).resolve("errors.log");
        bed.ended(launch(TestBed.PLUGIN, USER, installed("ln -s " + precious + " " + errors)));

        bed.ended(launch(TestBed.PLUGIN, null, installed("echo written >> " + errors)));

        assertEquals("", Files.readString(precious));
        assertEquals("written\n", Files.readString(errors));
    }

    @Test
    void aLogThatTheFormerUserReplacedByALinkIsNotWrittenTo() throws Exception {
        onlyRoot();
        Path precious = Files.writeString(root.resolve("precious"), "");
        Path log = bed.layout.log(TestBed.PROCESS);
        bed.ended(launch(TestBed.PROCESS, USER, installed("ln -sf " + precious + " " + log)));

        bed.ended(launch(TestBed.PROCESS, null, installed("echo written")));

        assertEquals("", Files.readString(precious));
        assertEquals("written\n", bed.log(TestBed.PROCESS));
    }

    @Test
    void changingTheUserGivesAwayNothingThatALinkPointsTo() throws Exception {
        onlyRoot();
        Path precious = Files.writeString(root.resolve("precious"), "");
        Path state = bed.layout.workloadState(TestBed.PROCESS);
        bed.ended(launch(
                TestBed.PROCESS,
                USER,
                installed("ln -s " + root + " " + state + "/d; ln -s " + precious + " " + state + "/f; echo > " + state
                        + "/own")));
        int nobody = Account.find(USER).orElseThrow().uid();
        Path theirs = Files.writeString(root.resolve("theirs"), "");
        Files.setAttribute(theirs, "unix:uid", nobody);
        Files.createLink(state.resolve("h"), theirs);
        Files.createLink(state.resolve("g"), precious);

        bed.ended(launch(TestBed.PROCESS, "daemon", installed("exit 0")));

        assertEquals(0, uid(precious));
        assertEquals(0, uid(root));
        assertEquals(nobody, uid(theirs));
        assertEquals(Account.find("daemon").orElseThrow().uid(), uid(state.resolve("own")));
    }

    @Test
    void aDirectoryThatKeepsTheUserOutIsNamed() throws Exception {
        onlyRoot();
        Files.setPosixFilePermissions(root, PosixFilePermissions.fromString("rwx------"));

        ActuationFailure failure =
                assertThrows(ActuationFailure.class, () -> launch(TestBed.PROCESS, USER, installed("exit 0")));

        assertTrue(
                TestBed.message(failure).contains("because " + root + " is closed to others"),
                TestBed.message(failure));
        assertFalse(Files.exists(bed.layout.launches(TestBed.PROCESS)));
    }

    @Test
    void aUserThatDoesNotExistIsRefused() throws Exception {
        ActuationFailure failure = assertThrows(
                ActuationFailure.class, () -> launch(TestBed.PROCESS, "no-such-user", installed("exit 0")));

        assertTrue(TestBed.message(failure).contains("no user no-such-user"), TestBed.message(failure));
        assertFalse(Files.exists(bed.layout.launches(TestBed.PROCESS)));
    }

    @Test
    void onlyRootMayAskForAnotherUser() throws Exception {
        Path program = Path.of("/bin/true");
        String asked = Account.ourUid() == 0 ? "daemon" : "root";
        try (LaunchingJvm agent = LaunchingJvm.start(nobody(), bed.root, "l", program, asked)) {
            String answer = agent.answer();
            assertEquals(
                    "spec.user is " + asked
                            + ", but only root can start a process as another user; run as root or leave"
                            + " spec.user out",
                    answer);
        }
        assertFalse(Files.exists(bed.layout.launches(TestBed.PROCESS)));
    }

    @Test
    void aNicenessThatTheKernelWouldRefuseIsRefused() throws Exception {
        List<String> prefix =
                Account.ourUid() == 0 ? List.of("setpriv", "--bounding-set=-sys_nice", "--inh-caps=-all") : List.of();
        try (LaunchingJvm agent = LaunchingJvm.start(prefix, bed.root, "l", Path.of("/bin/true"), "", "-20")) {
            String answer = Objects.requireNonNull(agent.answer());

            assertTrue(answer.startsWith("spec.nice is -20, but Homeostat itself has "), answer);
        }
        assertFalse(Files.exists(bed.layout.launches(TestBed.PROCESS)));
    }

    /** Who runs the tests when that is not root, else nobody, who is lent the right to read our classes. */
    private static List<String> nobody() throws Exception {
        if (Account.ourUid() != 0) {
            return List.of();
        }
        return List.of(
                "setpriv",
                "--reuid=" + Account.find(USER).orElseThrow().uid(),
                "--clear-groups",
                "--inh-caps=+dac_read_search",
                "--ambient-caps=+dac_read_search");
    }

    /** A program in the directory where archives are installed, which is closed to others at first. */
    private Path installed(String... lines) throws IOException, InterruptedException {
        Path bin = bed.layout.install(TestBed.PROCESS, "p_r1").resolve("bin");
        SecureDirectories.create(bin, SecureDirectories.OURS);
        Path program = bed.program("program", lines);
        return Files.move(program, bin.resolve("program"), StandardCopyOption.REPLACE_EXISTING);
    }

    private Instance launch(WorkloadId id, @Nullable String user, Path program) throws Exception {
        return bed.launch(new LaunchRequest(bed.instance(id), program, ImmutableList.of(), ImmutableMap.of(), user));
    }

    private static int asNobody(String script) throws Exception {
        return new ProcessBuilder(
                        "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "/bin/sh", "-c", script)
                .start()
                .waitFor();
    }

    private static int uid(Path file) throws IOException {
        return (Integer) Files.getAttribute(file, "unix:uid", LinkOption.NOFOLLOW_LINKS);
    }

    private static String rights(Path file) throws IOException {
        return PosixFilePermissions.toString(Files.getPosixFilePermissions(file, LinkOption.NOFOLLOW_LINKS));
    }
}
