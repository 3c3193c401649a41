package io.homeostat.e2e;

import static io.homeostat.e2e.OtherUser.DAEMON;
import static io.homeostat.e2e.OtherUser.NOBODY;
import static io.homeostat.e2e.Patience.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.homeostat.controlplane.FreePorts;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Other users of the machine gain nothing from an agent of root, nor from root's commands, and keep nobody from using it. */
final class OtherUsersTest {
    private static final String WEB = "process/web";
    private static final int CONNECTIONS = 450;

    @RegisterExtension
    final Homeostat homeostat = new Homeostat();

    private final Document web = Document.script("web", "exec sleep 1000");

    /** Of nobody but its user. */
    private Path home = Path.of("/nonexistent");

    @BeforeEach
    void letThemIn() throws IOException {
        OtherUser.needed();
        Path test = Objects.requireNonNull(homeostat.directory().getParent());
        Files.setPosixFilePermissions(test, PosixFilePermissions.fromString("rwxr-xr-x"));
        home = Files.createDirectory(test.resolve("home"));
        DAEMON.own(home);
    }

    @Test
    void rootDoesNothingInTheStateOfAnotherUser() throws IOException {
        Path probed = homeostat.directory().resolve("probed");
        homeostat.applied(web.with("probe.exec.command", List.of("/bin/touch", probed.toString())));
        Path precious = homeostat.file("precious/file", "precious");
        homeostat.kill(WEB);
        Files.deleteIfExists(probed);
        try (Stranger stranger = Stranger.sleeping("1000")) {
            pretend(stranger);
            Path state = homeostat.instance().resolve("agent_state/processes/web");
            Trees.delete(state);
            Files.createSymbolicLink(state, precious.getParent());
            Path lock = homeostat.stateDir().resolve("lock");
            Files.deleteIfExists(lock);
            Files.createSymbolicLink(lock, precious);
            NOBODY.own(homeostat.stateDir());

            for (String command : List.of(
                    "status",
                    "plan",
                    "verify " + WEB + " --revision 1",
                    "describe " + WEB,
                    "history " + WEB,
                    "logs " + WEB,
                    "diagnostics -",
                    "pause " + WEB + " --reason r",
                    "stop " + WEB,
                    "restart " + WEB,
                    "delete " + WEB,
                    "delete --all",
                    "run")) {
                homeostat.run(command.split(" ", -1)).exits(1).says("sudo -u nobody");
            }

            assertTrue(stranger.isUnharmed());
        }
        assertFalse(Files.exists(probed));
        assertEquals("precious", Files.readString(precious));
        Trees.delete(homeostat.stateDir());
    }

    /** Its owner says that the process of the last launch is this one. */
    private void pretend(Stranger stranger) throws IOException {
        Path launches = homeostat.instance().resolve("launches/processes/web");
        try (Stream<Path> all = Files.list(launches)) {
            for (Path launch : all.toList()) {
                Files.writeString(
                        launch.resolve("identity"),
                        stranger.stat() + "\n" + Files.readString(Path.of("/proc/sys/kernel/random/boot_id")));
                Files.deleteIfExists(launch.resolve("exit"));
            }
        }
    }

    @Test
    @Tag("nightly")
    void aDriverOfAUserRunsTasksAndNothingOfRoots() throws Exception {
        SampleDriver sample = SampleDriver.in(Files.createDirectory(home.resolve("d")));
        DAEMON.own(home);
        assumeTrue(
                DAEMON.starts(Map.of(), "test -r " + SampleProgram.RUNNER.classes())
                                .waitFor()
                        == 0,
                "the user can't read what was built");

        homeostat.applied(
                sample.local("runner", "1").with("user", "daemon"),
                Document.task("web", "runner", "id -un; exec sleep 1000"));

        assertTrue(homeostat.state("task/web").startsWith("RUNNING"), homeostat.state("task/web"));
        homeostat.run("logs", "task/web").exits(0).says("daemon");
    }

    @Test
    void aUserPutsNothingIntoAnEnvironmentThatOnlyRootMayRead() throws IOException {
        homeostat.keepsSecret("for-root-alone");
        Path secret = homeostat.file("secret", "for-root-alone");
        Files.setPosixFilePermissions(secret, PosixFilePermissions.fromString("rw-------"));
        Path token = Files.writeString(home.resolve("token"), "a-token");
        DAEMON.own(token);
        homeostat.declare("web.yaml", web.with("user", "daemon").with("env.TOKEN", Map.of("file", token.toString())));
        homeostat.agent();
        homeostat.awaitRunning(WEB);
        assertTrue(environment(WEB).contains("TOKEN=a-token"));

        DAEMON.does("ln -sf " + secret + " " + token);
        eventually().until(() -> reasons(WEB).contains("FileUnusable"));
        homeostat.kill(WEB);

        eventually()
                .until(() -> homeostat.processes(WEB).isEmpty() && reasons(WEB).contains("FileUnusable"));
        DAEMON.does("rm " + token + "; echo another > " + token);
        homeostat.awaitRunning(WEB);
        assertTrue(environment(WEB).contains("TOKEN=another"));
    }

    @Test
    void whatAProgramMayReadByItsGroupsIsReadForIt() throws IOException {
        Path token = homeostat.file("token", "a-token");
        Files.setAttribute(token, "unix:gid", 12_345);
        Files.setPosixFilePermissions(token, PosixFilePermissions.fromString("rw-r-----"));
        Document grouped = web.with("user", "daemon").with("env.TOKEN", Map.of("file", token.toString()));

        homeostat.applied(grouped.with("supplementaryGroups", List.of("12345")));
        homeostat.run("status", WEB).exits(0);

        assertTrue(environment(WEB).contains("TOKEN=a-token"));
        assertFalse(reasons(WEB).contains("FileUnusable"));
    }

    @Test
    void aProbeIsRunAsTheUserOfItsWorkload() throws IOException {
        Path who = home.resolve("who");
        homeostat.applied(web.with("user", "daemon")
                .with("probe.exec.command", List.of("/bin/sh", "-c", "id -u > " + who + "; id -G >> " + who)));

        assertEquals("1\n1\n", Files.readString(who));
    }

    @Test
    void aFileThatNeverAnswersHoldsUpNobody() throws IOException {
        Path fifo = home.resolve("fifo");
        DAEMON.does("mkfifo " + fifo);
        homeostat.declare(
                "web.yaml",
                web.with("reload.signal", "SIGHUP").with("reload.watch", List.of(fifo.toString(), "/proc/kmsg")));
        homeostat.declare("other.yaml", Document.script("other", "exec sleep 1000"));
        Agent agent = homeostat.agent();
        homeostat.awaitRunning("process/other");

        homeostat.run("status", WEB).says(fifo.toString());
        homeostat.run("plan");

        agent.terminate().exits(0);
    }

    @Test
    void whatBelongsToSomebodyElseIsNotGivenToAnotherUser() throws IOException {
        homeostat.applied(web.with("user", "daemon"));
        Path state = homeostat.instance().resolve("agent_state/processes/web");
        Path foreign = homeostat.file("foreign", "root's");
        Files.createLink(state.resolve("link"), foreign);
        DAEMON.does("touch " + state + "/own; chmod 0777 " + state);

        homeostat.applied(web.with("user", "nobody"));

        DAEMON.does("! touch " + state + "/more");

        assertEquals("root", owner(foreign));
        assertEquals("nobody", owner(state.resolve("own")));
        assertEquals("nobody", owner(state));
    }

    @Test
    void theDirectoriesOfATaskAreThoseOfItsUser() {
        homeostat.applied(
                SampleDriver.in(homeostat.directory()).local("runner", "1"),
                Document.task(
                                "web",
                                "runner",
                                "echo s3cret > $NOMAD_SECRETS_DIR/token && touch $NOMAD_TASK_DIR/app"
                                        + " && exec sleep 1000")
                        .with("user", "daemon"));
        Path task = homeostat.allocation("web");
        eventually().until(() -> Files.exists(task.resolve("local/app")));

        DAEMON.does("cat " + task + "/secrets/token && echo >> " + task + "/local/app");
        NOBODY.does("! cat " + task + "/secrets/token && ! mv " + task + "/local/app " + task + "/local/old");

        assertEquals("RUNNING", homeostat.state("task/web").split(" ", -1)[0]);
    }

    @Test
    void nobodyElseBecomesPartOfAWorkload() throws Exception {
        int port = FreePorts.take();
        homeostat.declare("web.yaml", web.with("probe.tcp.address", "127.0.0.1:" + port));
        homeostat.agent();
        eventually().until(() -> homeostat.processes(WEB).size() == 1);
        String launch = environment(WEB)
                .lines()
                .filter(line -> line.startsWith("HOMEOSTAT_LAUNCH_ID="))
                .findFirst()
                .orElseThrow()
                .split("=", -1)[1];
        Process impostor = NOBODY.starts(
                Map.of("HOMEOSTAT_LAUNCH_ID", launch),
                "exec perl -MIO::Socket::INET -e 'my $s = IO::Socket::INET->new(LocalAddr => \"127.0.0.1\", LocalPort => "
                        + port
                        + ", Listen => 5, ReuseAddr => 1) or die; $| = 1; print \"up\\n\"; while (1) { $s->accept }'");
        try {
            assertEquals('u', impostor.getInputStream().read());
            eventually()
                    .until(() -> homeostat.run("status", WEB).out().contains("process " + impostor.pid() + " (perl)"));
            homeostat.run("status", WEB).exits(1);

            Result arguments = homeostat.shell("cat /proc/[0-9]*/cmdline").await(Patience.LONGEST);
            arguments.doesNotSay(launch);
            homeostat.run("stop", WEB).exits(0);

            assertEquals(
                    List.of(),
                    homeostat.processes(WEB).stream()
                            .filter(one -> one.pid() != impostor.pid())
                            .toList());
            assertTrue(impostor.isAlive());
        } finally {
            impostor.destroyForcibly().waitFor();
        }
    }

    @Test
    void aChildWithTheMarkOfAnotherLaunchIsStopped() {
        homeostat.applied(Document.script("web", "HOMEOSTAT_LAUNCH_ID=another setsid sleep 1001 & exec sleep 1000"));
        eventually().until(() -> homeostat.processes(WEB).size() == 2);

        homeostat.run("stop", WEB).exits(0);

        assertEquals(List.of(), homeostat.processes(WEB));
    }

    @Test
    void connectionsThatSayNothingKeepNobodyOut() throws Exception {
        int port = FreePorts.take();
        homeostat.agent(AgentConfig.of(homeostat.desired()).with("metrics.listen", "127.0.0.1:" + port));
        List<Socket> silent = new ArrayList<>();
        try (HttpClient client = HttpClient.newHttpClient()) {
            for (int i = 0; i < CONNECTIONS; i++) {
                silent.add(new Socket(InetAddress.getLoopbackAddress(), port));
            }
            HttpRequest healthz = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + "/healthz"))
                    .timeout(Patience.LONGEST)
                    .build();
            assertEquals(
                    200,
                    client.send(healthz, HttpResponse.BodyHandlers.discarding()).statusCode());
        } finally {
            for (Socket socket : silent) {
                socket.close();
            }
        }
    }

    private String environment(String id) throws IOException {
        return Files.readString(Path.of("/proc/" + homeostat.pid(id) + "/environ"))
                .replace('\0', '\n');
    }

    private List<String> reasons(String id) {
        return Shapes.stream(homeostat.status(id).get("conditions"))
                .map(condition -> condition.path("reason").asText())
                .toList();
    }

    private static String owner(Path file) throws IOException {
        return Files.getOwner(file, LinkOption.NOFOLLOW_LINKS).getName();
    }
}
