package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** {@code homeostat run}: what files declare is enforced from the first moment until somebody says otherwise. */
final class RunTest {
    @RegisterExtension
    final Homeostat homeostat = new Homeostat();

    @Test
    void whatFilesDeclareIsEnforcedChangedAndWithdrawn() {
        homeostat.declare("web.yaml", sleeper("web", "1000"));
        homeostat.agent();
        homeostat.awaitRunning("process/web");
        long first = homeostat.pid("process/web");
        assertEquals("files", homeostat.status("process/web").get("source").asText());

        homeostat.declare("other.yaml", sleeper("other", "1000"));
        homeostat.awaitRunning("process/other");
        long other = homeostat.pid("process/other");
        assertEquals(first, homeostat.pid("process/web"));

        homeostat.declare("web.yaml", sleeper("web", "2000"));
        eventually().until(() -> commands("process/web").equals(List.of("/bin/sleep 2000 ")));
        assertNotEquals(first, homeostat.processes("process/web").getFirst().pid());

        homeostat.withdraw("web.yaml");
        eventually().until(() -> homeostat.processes("process/web").isEmpty());
        assertEquals(other, homeostat.pid("process/other"));
        eventually().until(() -> homeostat.events("process/web").contains("REMOVED local"));
    }

    @Test
    void aBrokenFileKeepsItsLastGoodContentEnforcedUntilItIsRepaired() throws IOException {
        Path file = homeostat.declare("web.yaml", sleeper("web", "1000"));
        homeostat.declare("other.yaml", sleeper("other", "1000"));
        homeostat.agent();
        homeostat.awaitRunning("process/web");

        Files.writeString(file, "apiVersion: homeostat.io/v1\nkind: Proces\n");
        eventually()
                .until(() -> events("AGENT_SOURCE_INVALID").stream().anyMatch(event -> event.contains("web.yaml:")));
        long dead = homeostat.kill("process/web");
        homeostat.awaitAnother("process/web", dead);
        assertEquals(List.of("/bin/sleep 1000 "), commands("process/web"));
        homeostat.run("status").says(file + ":1:1");
        homeostat.declare("other.yaml", sleeper("other", "2000"));
        eventually().until(() -> commands("process/other").equals(List.of("/bin/sleep 2000 ")));

        homeostat.declare("web.yaml", sleeper("web", "3000"));
        eventually().until(() -> commands("process/web").equals(List.of("/bin/sleep 3000 ")));
        eventually().until(() -> events("AGENT_SOURCE_VALID").size() == 1);
        homeostat.run("status").doesNotSay(file + ":");
    }

    @Test
    void sigtermEndsTheAgentWithinSecondsAndNeverAWorkload() {
        homeostat.declare("web.yaml", sleeper("web", "1000"));
        Agent agent = homeostat.agent();
        homeostat.awaitRunning("process/web");
        long pid = homeostat.pid("process/web");
        long before = System.nanoTime();

        agent.terminate().exits(0);

        assertTrue(Duration.ofNanos(System.nanoTime() - before).toSeconds() < 10);
        assertEquals(pid, homeostat.pid("process/web"));
        homeostat.run("status").exits(0);
        assertFalse(Files.exists(homeostat.runDir().resolve("agent.sock")));
    }

    @Test
    void aSecondAgentNamesTheFirstAndRefuses() {
        AgentProcess first = homeostat.agentProcess();

        Agent second = homeostat.startAgent(AgentConfig.of(homeostat.desired()));

        second.awaitSaying("homeostat run (pid " + first.pid() + ")");
        second.await().exits(1).says("homeostat run (pid " + first.pid() + ") is working on");
        assertTrue(first.isRunning());
        homeostat.applied(sleeper("web", "1000"));
    }

    @Test
    void aKilledProcessIsRestartedAtOnceAndHowItEndedIsTold() {
        homeostat.declare("web.yaml", sleeper("web", "1000"));
        homeostat.agent();
        homeostat.awaitRunning("process/web");

        long dead = homeostat.kill("process/web");

        // By the hint that it has ended: the resync is an hour away.
        homeostat.awaitAnother("process/web", dead);
        homeostat.awaitRunning("process/web");
        assertEquals(
                "SIGNALED",
                homeostat.status("process/web").at("/lastExit/reason").asText());
        assertEquals(1, homeostat.status("process/web").get("restarts").asInt());
        assertEquals(1, homeostat.processes("process/web").size());
        assertTrue(homeostat.events("process/web").contains("CRASHED local"));
    }

    @Test
    void sighupReadsAChangedConfigurationAndABrokenOneChangesNothing() throws IOException {
        Path elsewhere = Files.createDirectory(homeostat.directory().resolve("elsewhere.d"));
        homeostat.declare("old.yaml", sleeper("old", "1000"));
        Files.writeString(elsewhere.resolve("new.yaml"), sleeper("new", "1000").toString());
        Agent agent = homeostat.agent();
        homeostat.awaitRunning("process/old");

        homeostat.file("agent.yaml", AgentConfig.of(elsewhere).toString());
        agent.hangUp();
        homeostat.awaitRunning("process/new");
        eventually().until(() -> homeostat.processes("process/old").isEmpty());

        homeostat.file("agent.yaml", "sources: {files: [relative]}\nresinc: 1s\n");
        agent.hangUp();
        agent.awaitSaying("agent.yaml:2:1").awaitSaying("what was read before stays in force");
        Files.writeString(
                elsewhere.resolve("more.yaml"), sleeper("more", "1000").toString());
        eventually().until(() -> homeostat.processes("process/more").size() == 1);
        assertTrue(agent.isRunning());
        homeostat.run("status").exits(1).says("agent.yaml is not valid: ").says("agent.yaml:2:1");
        homeostat.run("status", "-o", "json").exits(1).says("unknown key 'resinc'");

        homeostat.file("agent.yaml", AgentConfig.of(elsewhere).toString());
        agent.hangUp();
        eventually().untilAsserted(() -> homeostat.run("status").exits(0));
    }

    /** As after nohup, or in the background of a script. */
    @Test
    void anAgentThatInheritsSighupAsIgnoredReloadsAtSighup() {
        Path config = homeostat.file("agent.yaml", AgentConfig.of().toString());
        Command agent = homeostat.shell("trap '' HUP; exec $HS run --config " + config);
        eventually().until(() -> Agent.isEnforcing(agent.soFar()));

        Processes.signal("HUP", agent.pid());

        eventually()
                .until(() -> homeostat.events().stream()
                        .anyMatch(event -> event.get("type").asText().equals("AGENT_CONFIG_LOADED")));
        agent.terminate();
        agent.await(Patience.LONGEST).exits(0);
    }

    @Test
    void aConfigurationThatIsWrongAtTheStartIsRefusedWithItsPlace() {
        homeostat
                .startAgent(AgentConfig.of(homeostat.desired()).with("resinc", "1s"))
                .await()
                .exits(1)
                .says("agent.yaml:")
                .says("resinc");
    }

    @Test
    void itRunsWithoutAConfigurationFile() {
        assumeFalse(
                List.of("/etc/homeostat", "/usr/lib/google/guest_agent").stream()
                        .anyMatch(path -> Files.exists(Path.of(path))),
                "would enforce what this machine declares");
        homeostat.environment("XDG_CONFIG_HOME", homeostat.directory().toString());
        Agent agent = new Agent(homeostat.start("run"), homeostat::checked).awaitReady();

        homeostat.applied(sleeper("web", "1000"));

        homeostat.awaitAnother("process/web", homeostat.kill("process/web"));
        agent.terminate().exits(0);
    }

    private List<String> commands(String id) {
        return homeostat.processes(id).stream().map(Processes.Seen::command).toList();
    }

    private List<String> events(String type) {
        return homeostat.events().stream()
                .filter(event -> event.get("type").asText().equals(type))
                .map(event -> event.get("message").asText())
                .toList();
    }

    private static Document sleeper(String name, String seconds) {
        return Document.process(name)
                .with("install", "local")
                .with("entryPoint", "/bin/sleep")
                .arguments(seconds);
    }
}
