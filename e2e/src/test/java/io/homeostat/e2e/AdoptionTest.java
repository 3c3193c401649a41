package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.homeostat.e2e.Bucket.Stored;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The agent is gone, and another one comes: it takes over what is there, and nothing else. */
final class AdoptionTest {
    @RegisterExtension
    final Homeostat homeostat = new Homeostat();

    @RegisterExtension
    final Bucket bucket = new Bucket();

    @Test
    void workloadsOutliveAKilledAgentAndAreTakenOverByTheNextAsTheyAre() {
        homeostat.declare("all.yaml", greeter(), Document.script("web", "exec sleep 1000"));
        AgentProcess first = homeostat.agentProcess();
        homeostat.awaitRunning("plugin/greeter");
        homeostat.awaitRunning("process/web");
        long plugin = homeostat.pid("plugin/greeter");
        long process = homeostat.pid("process/web");

        first.kill();
        assertEquals(plugin, homeostat.pid("plugin/greeter"));
        homeostat.agent();
        homeostat.awaitRunning("plugin/greeter");
        homeostat.awaitRunning("process/web");

        assertEquals(plugin, homeostat.pid("plugin/greeter"));
        assertEquals(process, homeostat.pid("process/web"));
        assertEquals(0, homeostat.status("process/web").get("restarts").asInt());
        // No child of this agent, and its end is noticed at once all the same.
        homeostat.awaitAnother("process/web", homeostat.kill("process/web"));
        homeostat.awaitAnother("plugin/greeter", homeostat.kill("plugin/greeter"));
        homeostat.awaitRunning("plugin/greeter");
    }

    @Tag("nightly")
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void whatAFormerVersionLaunchedIsTakenOverAsItIs(boolean withDatabase) throws Exception {
        homeostat.declare("all.yaml", greeter(), Document.script("web", "exec sleep 1000"));
        AgentProcess first = homeostat.agentProcess();
        homeostat.awaitRunning("plugin/greeter");
        homeostat.awaitRunning("process/web");
        long plugin = homeostat.pid("plugin/greeter");
        long process = homeostat.pid("process/web");
        first.kill();
        FormerVersion.of(homeostat.stateDir());
        if (!withDatabase) {
            for (String suffix : new String[] {"", "-wal", "-shm"}) {
                Files.deleteIfExists(homeostat.stateDir().resolve("homeostat.db" + suffix));
            }
        }

        homeostat.agent();

        homeostat.awaitRunning("plugin/greeter");
        homeostat.awaitRunning("process/web");
        assertEquals(plugin, homeostat.pid("plugin/greeter"));
        assertEquals(process, homeostat.pid("process/web"));
        assertEquals(1, homeostat.processes("plugin/greeter").size());
        assertEquals(0, homeostat.status("plugin/greeter").get("restarts").asInt());
        homeostat.run("plan", "--detailed-exitcode").exits(0);
        homeostat.awaitAnother("process/web", homeostat.kill("process/web"));
    }

    @Tag("nightly")
    @Test
    void howAWorkloadEndedWhileNoAgentWasThereIsKnownAndItIsRestarted() {
        Path go = homeostat.directory().resolve("go");
        homeostat.declare(
                "web.yaml",
                Document.script("web", "while [ ! -e " + go + " ]; do sleep 0.1; done; rm " + go + "; exit 7"));
        AgentProcess first = homeostat.agentProcess();
        homeostat.awaitRunning("process/web");
        long pid = homeostat.pid("process/web");
        long keeper = Processes.parent(pid);
        first.kill();
        homeostat.file("go", "");
        eventually().until(() -> !Processes.isAlive(pid) && !Processes.isAlive(keeper));

        homeostat.agent();

        homeostat.awaitAnother("process/web", pid);
        homeostat.awaitRunning("process/web");
        JsonNode status = homeostat.status("process/web");
        assertEquals(7, status.at("/lastExit/code").asInt());
        assertEquals("EXITED", status.at("/lastExit/reason").asText());
        assertEquals(1, status.get("restarts").asInt());
        assertTrue(homeostat.events().stream()
                .anyMatch(event -> event.get("type").asText().equals("PLUGIN_CRASHED")
                        && event.get("message").asText().contains("status 7")));
    }

    @Tag("nightly")
    @Test
    void whatNobodyDeclaresAnyMoreIsStoppedAndWhatOnlyLooksLikeItIsNot() {
        homeostat.declare("web.yaml", Document.script("web", "exec sleep 1000"));
        homeostat.declare("stays.yaml", Document.script("stays", "exec sleep 1000"));
        AgentProcess first = homeostat.agentProcess();
        homeostat.awaitRunning("process/web");
        homeostat.awaitRunning("process/stays");
        long stays = homeostat.pid("process/stays");
        first.kill();
        homeostat.withdraw("web.yaml");
        try (Stranger stranger = Stranger.sleeping("1000")) {
            assertEquals(
                    stranger.command(),
                    homeostat.processes("process/web").getFirst().command());

            homeostat.agent();

            eventually().until(() -> homeostat.processes("process/web").isEmpty());
            homeostat.awaitRunning("process/stays");
            assertEquals(stays, homeostat.pid("process/stays"));
            assertTrue(stranger.isUnharmed());
        }
    }

    @Test
    void afterARebootEverythingIsStartedAgainAndWhoeverHasItsNumbersNowIsLeftAlone() throws Exception {
        homeostat.declare("all.yaml", greeter(), Document.script("web", "exec sleep 1000"));
        AgentProcess before = homeostat.agentProcess();
        homeostat.awaitRunning("plugin/greeter");
        homeostat.awaitRunning("process/web");
        String events = homeostat.events("process/web").toString();
        before.kill();
        try (Stranger one = Stranger.sleeping("1000");
                Stranger two = Stranger.sleeping("1000")) {
            new Reboot(homeostat).with("process/web", one).with("plugin/greeter", two);

            homeostat.agent();

            homeostat.awaitRunning("process/web");
            homeostat.awaitRunning("plugin/greeter");
            assertNotEquals(one.pid(), homeostat.pid("process/web"));
            assertNotEquals(two.pid(), homeostat.pid("plugin/greeter"));
            assertEquals(1, homeostat.processes("process/web").size());
            assertEquals(1, homeostat.processes("plugin/greeter").size());
            assertTrue(one.isUnharmed() && two.isUnharmed());
            assertEquals(
                    "UNKNOWN",
                    homeostat.status("process/web").at("/lastExit/reason").asText());
            assertTrue(homeostat.events("process/web").toString().startsWith(events.replace("]", "")));
            homeostat.run("plan", "--detailed-exitcode").exits(0);

            // Not because of a stranger's end either.
            long web = homeostat.pid("process/web");
            one.close();
            homeostat.run("status").exits(0);
            assertEquals(web, homeostat.pid("process/web"));
        }
    }

    private Document greeter() {
        Stored archive = bucket.put("greeter.tar.gz", Bucket.greeter());
        return Document.greeter("greeter", "1", bucket.signedUrl(archive)).with("source.sha256", archive.sha256());
    }
}
