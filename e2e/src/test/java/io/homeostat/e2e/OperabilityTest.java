package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.common.collect.MoreCollectors;
import io.homeostat.controlplane.FreePorts;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** What an operator sees of an agent: its log, its metrics, its health, and what doctor and diagnostics say. */
final class OperabilityTest {
    private static final ObjectMapper JSON = new ObjectMapper();

    /** Prometheus' text format, version 0.0.4. */
    private static final Pattern EXPOSITION = Pattern.compile("# (HELP|TYPE) [a-z_]+ .+"
            + "|[a-z_]+(\\{([a-z_]+=\"([^\"\\\\]|\\\\.)*\",?)*\\})? (-?[0-9.]+(E-?[0-9]+)?|NaN|\\+Inf|-Inf)");

    @RegisterExtension
    final Homeostat homeostat = new Homeostat();

    private AgentConfig config() {
        return AgentConfig.of(homeostat.desired());
    }

    @Test
    void eachLineOfTheJsonLogIsAnObjectThatSaysWhichPassItIsOf() throws IOException {
        homeostat.declare("web.yaml", Document.script("web", "exec sleep 1000"));
        Agent agent = homeostat.agent(config().with("log.format", "json"));
        homeostat.awaitRunning("process/web");
        agent.awaitSaying("launch done");
        agent.terminate().exits(0);

        List<String> lines = agent.said().lines().toList();

        assertTrue(agent.said().contains("told to end"), agent::said);
        boolean launched = false;
        for (String line : lines) {
            JsonNode entry = JSON.readTree(line);
            assertTrue(entry.hasNonNull("time") && entry.hasNonNull("level") && entry.hasNonNull("logger"), line);
            if (entry.path("message").asText().startsWith("launch done")) {
                launched = true;
                assertEquals("process/web", entry.path("workload").asText());
                assertTrue(entry.path("reconciliation").asLong() > 0, line);
                assertFalse(entry.path("trigger").asText().isEmpty(), line);
            }
        }
        assertTrue(launched, lines::toString);
    }

    @Test
    void theTextLogMarksEachLineAndItsLevelIsReadAgain() {
        homeostat.declare("web.yaml", Document.script("web", "exec sleep 1000"));
        Agent agent = homeostat.agent(config());
        homeostat.awaitRunning("process/web");
        agent.awaitSaying("launch done");
        assertTrue(
                log(agent).stream()
                        .anyMatch(line ->
                                line.matches("[0-9T:.-]+Z INFO \\[process/web #[0-9]+ [a-z]+\\] launch done.*")),
                agent::said);
        assertFalse(agent.said().contains(" DEBUG "), agent::said);

        homeostat.file("agent.yaml", config().with("log.level", "debug").toString());
        agent.hangUp();

        agent.awaitSaying("was read again");
        homeostat.kill("process/web");
        agent.awaitSaying(" DEBUG ");
    }

    /** Its lines, without those of the program before it was an agent. */
    private static List<String> log(Agent agent) {
        return agent.said()
                .lines()
                .filter(line -> !line.startsWith("homeostat: "))
                .toList();
    }

    @Test
    void metricsTellOfRestartsAndFailuresAndMoveToAnotherPort() throws IOException {
        int port = FreePorts.take();
        homeostat.declare("looping.yaml", Document.script("looping", "echo up; sleep 3; exit 3"));
        homeostat.declare("missing.yaml", Document.missing("missing", homeostat.directory()));
        Agent agent = homeostat.agent(config().with("metrics.listen", "127.0.0.1:" + port));

        eventually().until(() -> {
            String metrics = get(port, "/metrics");
            return metrics.contains("homeostat_failures_total{reason=")
                    && metrics.matches("(?s).*homeostat_restarts_total\\{workload=\"process/looping\"\\} [1-9].*");
        });

        String answer = get(port, "/metrics");
        assertTrue(answer.startsWith("HTTP/1.1 200 OK"), answer);
        String body = answer.substring(answer.indexOf("\r\n\r\n") + 4);
        body.lines().forEach(line -> assertTrue(EXPOSITION.matcher(line).matches(), line));
        assertTrue(body.contains("homeostat_workload_last_exit_code{workload=\"process/looping\"} 3"), body);
        assertTrue(body.contains("homeostat_workload_up{workload=\"process/missing\"} 0"), body);
        assertTrue(get(port, "/healthz").startsWith("HTTP/1.1 200 OK"));
        int another = FreePorts.take();
        homeostat.file(
                "agent.yaml",
                config().with("metrics.listen", "127.0.0.1:" + another).toString());
        agent.hangUp();
        eventually().until(() -> get(another, "/healthz").startsWith("HTTP/1.1 200 OK"));
        assertEquals("", get(port, "/healthz"));
    }

    @Test
    void aHookIsToldOfACrashWithItsCauseAndTheEndOfTheLogWithoutSecrets() throws IOException {
        Path told = homeostat.directory().resolve("told");
        homeostat.declare(
                "web.yaml",
                Document.script("web", "echo \"cannot log in with $PASSWORD\"; sleep 3; exit 3")
                        .with("env.PASSWORD", "correct-horse-battery"));
        Agent agent = homeostat.agent(config().with(
                        "notify",
                        List.of(Map.of(
                                "on",
                                List.of("CRASHED"),
                                "exec",
                                List.of(
                                        "/bin/sh",
                                        "-c",
                                        "cat > \"$1.new\"; mv \"$1.new\" \"$1\"",
                                        "sh",
                                        told.toString())))));

        eventually().until(() -> Files.exists(told));

        JsonNode json = new ObjectMapper().readTree(Files.readString(told));
        assertEquals("process/web", json.path("workload").asText());
        assertEquals("CRASHED", json.path("event").asText());
        assertTrue(json.path("cause").asText().contains("exited with status 3"), json::toString);
        assertTrue(json.path("log").toString().contains("cannot log in with"), json::toString);
        assertFalse(json.toString().contains("correct-horse-battery"), json::toString);
        agent.terminate().exits(0);
    }

    @Test
    void aPortThatIsTakenIsAWarningAndTheAgentWorks() throws IOException {
        try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            homeostat.declare("web.yaml", Document.script("web", "exec sleep 1000"));
            Agent agent = homeostat.agent(config().with("metrics.listen", "127.0.0.1:" + taken.getLocalPort()));
            agent.awaitSaying("metrics.listen: nothing is served at 127.0.0.1:" + taken.getLocalPort());
            eventually().until(() -> homeostat.processes("process/web").size() == 1);
            homeostat.run("status").exits(1).says("agent: metrics.listen: ").says("127.0.0.1:" + taken.getLocalPort());
        }
    }

    @Test
    void thePageIsServedAsSoonAsTheConfigurationSaysSoAndGoneWithTheAgent() throws IOException {
        homeostat.run("ui").exits(1).says("no agent runs");
        AgentProcess agent = homeostat.agentProcess(config());
        homeostat.run("ui").exits(1).says("ui: {listen: ");
        homeostat.file("agent.yaml", config().with("ui.listen", "127.0.0.1:0").toString());
        agent.hangUp();
        eventually().until(() -> homeostat.run("ui").exit() == 0);

        String url = homeostat.run("ui").out().strip();
        int port = Integer.parseInt(url.substring("http://127.0.0.1:".length(), url.indexOf("/#")));
        assertTrue(get(port, "/").startsWith("HTTP/1.1 421"), "x is none of its names");
        Path served = homeostat.file(
                "served.yaml", config().with("ui.listen", "127.0.0.1:" + port).toString());
        homeostat
                .run("doctor", "--config", served.toString())
                .says("page             the agent (pid " + agent.pid() + ") serves at 127.0.0.1:" + port);
        homeostat.keepsSecret(url.substring(url.indexOf('=') + 1));
        agent.terminate().exits(0);
        assertEquals("", get(port, "/"));
        assertFalse(Files.exists(homeostat.runDir().resolve("ui.url")));
        assertFalse(Files.exists(homeostat.runDir().resolve("ui.html")));
    }

    @Test
    void aUnixSocketIsForNobodyElse() throws IOException {
        Path socket = homeostat.directory().resolve("m.sock");
        Agent agent = homeostat.agent(config().with("metrics.listen", "unix:" + socket));

        assertEquals("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(socket)));
        try (SocketChannel channel = SocketChannel.open(UnixDomainSocketAddress.of(socket))) {
            channel.write(ByteBuffer.wrap(request("/healthz")));
            String answer = new String(Channels.newInputStream(channel).readAllBytes(), StandardCharsets.ISO_8859_1);
            assertTrue(answer.startsWith("HTTP/1.1 200 OK"), answer);
        }
        agent.terminate().exits(0);
        assertFalse(Files.exists(socket));
    }

    @Tag("nightly")
    @Test
    void doctorAndDiagnosticsWorkBesideAnAgent() throws IOException {
        homeostat.keepsSecret("hunter2-of-e2e");
        homeostat.declare(
                "web.yaml",
                Document.script("web", "echo it is $CODE | sed 's/hunter/h u n t e r /'; exec sleep 1000")
                        .with("env.CODE", "hunter2-of-e2e"));
        AgentProcess agent = homeostat.agentProcess(config());
        homeostat.awaitRunning("process/web");

        homeostat
                .run("doctor", "--config", homeostat.directory() + "/agent.yaml")
                .exits(0)
                .says("agent            pid " + agent.pid());
        Path archive = homeostat.directory().resolve("d.tar.gz");
        homeostat
                .run("diagnostics", archive.toString(), "--config", homeostat.directory() + "/agent.yaml")
                .exits(0);

        String all;
        try (GZIPInputStream in = new GZIPInputStream(new ByteArrayInputStream(Files.readAllBytes(archive)))) {
            all = new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
        assertFalse(all.contains("hunter2-of-e2e"), all);
        assertTrue(all.contains("homeostat-diagnostics/agent/threads.txt"), all);
        assertTrue(all.contains("InspectCommand.threads"), all);
        assertEquals("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(archive)));
        homeostat.run("diagnostics", archive.toString()).exits(1).says("exists already");
    }

    private static byte[] request(String path) {
        return ("GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n").getBytes(StandardCharsets.US_ASCII);
    }

    /** The whole answer; empty when nobody listens. */
    private static String get(int port, String path) {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
            socket.setSoTimeout(30_000);
            socket.getOutputStream().write(request(path));
            return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            return "";
        }
    }

    /** Directories stand for control groups, and a function for the kernel, which has no controller for memory. */
    @Tag("nightly")
    @Test
    void theUnitTakesBackWhatACrashedAgentHasPassedDownUnlessSystemdMadeItsGroup()
            throws IOException, InterruptedException {
        Path work = Files.createDirectories(homeostat.directory().resolve("stop"));
        Path unit = Files.createDirectories(work.resolve("cgroup/system.slice/homeostat.service"));
        Path self = Files.writeString(work.resolve("self"), "0::/system.slice/homeostat.service/.control\n");
        Path written = Files.createFile(work.resolve("written"));
        String script = Files.readAllLines(Distribution.checkout().resolve("examples/agent/homeostat.service")).stream()
                .filter(line -> line.startsWith("ExecStopPost="))
                .collect(MoreCollectors.onlyElement())
                .replaceFirst("^ExecStopPost=-/bin/sh -c '(.*)'$", "$1")
                .replace("$$", "$")
                .replace("%%", "%")
                .replace("/proc/self/cgroup", self.toString())
                .replace("/sys/fs/cgroup", work.resolve("cgroup").toString());
        String kernel = "echo() { printf '%s\\n' \"$*\" >>" + written + "; [ \"$*\" != -memory ]; }\n";

        runs(kernel + script);
        assertEquals("", Files.readString(written), "this agent had no group");

        Files.createDirectory(unit.resolve("supervisor"));
        runs(kernel + script);
        assertEquals("-memory\n-cpu\n", Files.readString(written));
        assertTrue(Files.exists(unit.resolve("cgroup.subtree_control")), "where it has written to");

        Files.createDirectory(unit.resolve("agent"));
        runs(kernel + script);
        assertEquals("-memory\n-cpu\n", Files.readString(written), "no more than before: workloads are below the unit");
    }

    private static void runs(String script) throws IOException, InterruptedException {
        Process shell = new ProcessBuilder("/bin/sh", "-c", script)
                .redirectErrorStream(true)
                .start();
        String said = new String(shell.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertEquals(0, shell.waitFor(), said);
        assertEquals("", said);
    }

    /** Debian 12 has systemd 252; what only later ones know is in a drop-in. */
    @Tag("nightly")
    @Test
    void theUnitHasNoKeyThatSystemdDoesNotKnow() throws IOException, InterruptedException {
        Path analyze = Path.of("/usr/bin/systemd-analyze");
        String unit = Files.readString(Distribution.checkout().resolve("examples/agent/homeostat.service"));
        assertFalse(unit.contains("\nDelegateSubgroup"), "known since systemd 254");
        assumeTrue(Files.isExecutable(analyze), "no systemd here that could be asked");
        Path copy = Files.writeString(
                homeostat.directory().resolve("homeostat.service"),
                unit.replace("/opt/homeostat/bin/homeostat", "/bin/true"));
        // Its manual is where a package has put it.
        Process verify = new ProcessBuilder(analyze.toString(), "verify", "--man=no", copy.toString())
                .redirectErrorStream(true)
                .start();
        String said = new String(verify.getInputStream().readAllBytes(), StandardCharsets.UTF_8);

        assertEquals(0, verify.waitFor(), said);
        assertEquals("", said);
    }
}
