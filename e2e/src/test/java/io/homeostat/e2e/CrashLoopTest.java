package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.homeostat.e2e.Bucket.Stored;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** What fails again and again is tried less and less often, and neither a kill -9 of the agent nor a hint begins anew. */
final class CrashLoopTest {
    private static final int MOST_ATTEMPTS = 5;
    private static final Pattern UNTIL = Pattern.compile("20[0-9T:.-]+Z");

    @RegisterExtension
    final Homeostat homeostat = new Homeostat();

    @RegisterExtension
    final Bucket bucket = new Bucket();

    @Test
    void aProcessThatAlwaysEndsIsRestartedAtOnceAndThenAfterPausesThatPlanShows() {
        homeostat.declare("looping.yaml", Document.script("looping", "echo up; sleep 1.5; exit 3"));
        homeostat.agent();

        JsonNode wait = awaitWait("process/looping", "CRASH_LOOP");

        assertTrue(wait.get("message").asText().contains("status 3"), wait::toString);
        assertEquals("[\"wait\"]", wait.get("steps").toString());
        eventually().until(() -> homeostat.run("plan").out().contains(". process/looping"));
        // Without pauses it would be up every two seconds.
        eventually()
                .until(() -> homeostat.status("process/looping").get("restarts").asInt() >= 4);
        // The end of what a busy agent has not seen alive for a second is a failed start.
        List<Instant> crashes = eventually().until(this::crashes, told -> told.size() >= 4);
        assertTrue(crashes.size() < 20, crashes::toString);
    }

    @Test
    void withoutAnAgentNobodyWaitsAndPlanSaysWhatTheNextApplyDoes() {
        Document web = Document.script("web", "exec sleep 1000");
        homeostat.applied(web);
        for (int crash = 0; crash < 3; crash++) {
            homeostat.kill("process/web");

            homeostat.run("plan").exits(0).says("! process/web").says("1 to repair");

            homeostat.applied(web);
        }
    }

    @Tag("nightly")
    @Test
    void anAgentThatIsKilledInThePauseDoesNotBeginTheStormAnew() {
        homeostat.declare("web.yaml", Document.script("web", "exec sleep 1000").with("restart.initialDelay", "12s"));
        AgentProcess first = homeostat.agentProcess();
        homeostat.awaitRunning("process/web");
        homeostat.kill("process/web");
        // Until the agent has recorded the crash, a plan counts from the moment at which the plan itself sees it.
        eventually().until(() -> !crashes().isEmpty());
        Instant until = until(awaitWait("process/web", "CRASH_LOOP"));

        first.kill();
        homeostat.agent();
        Instant ready = Instant.now();

        // An agent that took longer to start than the pause shows nothing.
        if (ready.isBefore(until.minusSeconds(3))) {
            assertEquals(until, until(awaitWait("process/web", "CRASH_LOOP")));
        }
        homeostat.awaitRunning("process/web");
        Instant started =
                Instant.parse(homeostat.status("process/web").get("startedAt").asText());
        // The kernel counts the start in hundredths of a second, and the pause was exact.
        assertFalse(started.isBefore(until.minusMillis(100)), () -> started + " is before " + until);
        Instant possible = ready.isAfter(until) ? ready : until;
        assertTrue(started.isBefore(possible.plusSeconds(20)), () -> started + " is long after " + possible);
    }

    @Test
    void whatIsGivenUpStaysSoUntilItIsDeclaredAnew() {
        Document web = Document.script("web", "exec sleep 1000").with("restart.giveUpAfter", 2);
        homeostat.declare("web.yaml", web);
        AgentProcess first = homeostat.agentProcess();
        homeostat.awaitRunning("process/web");
        for (int i = 0; i < 2; i++) {
            homeostat.awaitAnother("process/web", homeostat.kill("process/web"));
            homeostat.awaitRunning("process/web");
        }
        homeostat.kill("process/web");
        eventually().until(() -> givenUp().equals("True"));
        first.kill();
        homeostat.agent();
        homeostat.run("status").exits(1).says(" 3 failures");
        assertEquals("True", givenUp());
        assertEquals(List.of(), homeostat.processes("process/web"));

        homeostat.declare("web.yaml", web.with("env", Map.of("TRY", "again")));

        homeostat.awaitRunning("process/web");
        assertEquals("False", givenUp());
        homeostat.awaitAnother("process/web", homeostat.kill("process/web"));
    }

    @Tag("nightly")
    @Test
    void whatCanNotBeFetchedIsTriedAgainAfterAPauseThatOutlivesTheAgent() {
        AgentProcess agent = homeostat.agentProcess();
        for (int attempt = 1; ; attempt++) {
            assumeTrue(attempt <= MOST_ATTEMPTS, "agents start too slowly here to be seen waiting");
            String name = "run" + attempt;
            String id = "process/" + name;
            Stored archive = bucket.put(name, TarGz.ofScript("exec sleep 1000 # " + name));
            bucket.answer(archive, Bucket.status(503));
            homeostat.declare(name + ".yaml", run(name, "1", archive).with("source.attempts", 1));
            Instant until = until(awaitWait(id, "INSTALL_FAILED"));
            assertEquals("INSTALL_FAILED", homeostat.status(id).get("state").asText());
            int requests = bucket.requests(archive);

            agent.kill();
            bucket.answer(archive, Bucket.whole(archive.content()));
            agent = homeostat.agentProcess();

            // An agent that took longer to start than the pause shows nothing: then the same again.
            if (Instant.now().isBefore(until.minusSeconds(3))) {
                assertEquals(until, until(awaitWait(id, "INSTALL_FAILED")));
                assertEquals(requests, bucket.requests(archive));
                homeostat.awaitRunning(id);
                assertEquals(requests + 1, bucket.requests(archive));
                assertFalse(Instant.now().isBefore(until));
                return;
            }
        }
    }

    @Tag("nightly")
    @Test
    void anExpiredAddressIsNotAskedAgainUntilThereIsAnotherOne() {
        Stored archive = bucket.put("run.tar.gz", TarGz.ofScript("exec sleep 1000"));
        homeostat.keepsSecret(archive.signature());
        bucket.expire(archive);
        homeostat.declare("run.yaml", run("run", "1", archive));
        AgentProcess first =
                homeostat.agentProcess(AgentConfig.of(homeostat.desired()).with("resync", "1s"));
        JsonNode wait = awaitWait("process/run", "INSTALL_FAILED");
        assertTrue(wait.get("message").asText().contains("403"), wait::toString);
        int requests = bucket.requests(archive);
        first.kill();
        // It resyncs every second, and starts anew.
        homeostat.agent(AgentConfig.of(homeostat.desired()).with("resync", "1s"));
        homeostat.declare("web.yaml", Document.script("web", "exec sleep 1000"));
        homeostat.awaitRunning("process/web");
        Instant soon = Instant.now().plus(Duration.ofSeconds(3));
        eventually().until(() -> Instant.now().isAfter(soon));
        assertEquals(requests, bucket.requests(archive));

        Stored fresh = bucket.put("run.tar.gz", archive.content());
        homeostat.declare("run.yaml", run("run", "1", fresh));

        homeostat.awaitRunning("process/run");
        assertEquals("RUNNING 1", homeostat.state("process/run"));
        assertEquals(requests + 1, bucket.requests(fresh));
    }

    /** Waits until a plan has nothing but a wait for a workload, for that reason, and returns what it says of it. */
    private JsonNode awaitWait(String id, String reason) {
        return eventually()
                .until(
                        () -> {
                            JsonNode plan = homeostat.plan();
                            return Stream.of("changes", "drift")
                                    .flatMap(list -> Shapes.stream(plan.get(list)))
                                    .filter(change -> change.get("workload")
                                                    .asText()
                                                    .equals(id)
                                            && change.get("action").asText().equals("wait")
                                            && change.get("reason").asText().equals(reason))
                                    .toList();
                        },
                        found -> !found.isEmpty())
                .getFirst();
    }

    /** When it is over, as its message says. */
    private static Instant until(JsonNode wait) {
        Matcher until = UNTIL.matcher(wait.get("message").asText());
        assertTrue(until.find(), wait::toString);
        return Instant.parse(until.group());
    }

    private List<Instant> crashes() {
        return homeostat.events().stream()
                .filter(event -> event.get("type").asText().equals("PLUGIN_CRASHED"))
                .map(event -> Instant.parse(event.get("time").asText()))
                .toList();
    }

    private String givenUp() {
        return Homeostat.condition(homeostat.status("process/web"), "GivenUp");
    }

    private Document run(String name, String revision, Stored archive) {
        return Document.process(name)
                .with("revision", revision)
                .with("source.url", bucket.signedUrl(archive))
                .with("entryPoint", "bin/run");
    }
}
