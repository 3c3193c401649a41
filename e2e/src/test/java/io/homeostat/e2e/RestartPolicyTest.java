package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** What is launched again only after a failure. */
final class RestartPolicyTest {
    @RegisterExtension
    final Homeostat homeostat = new Homeostat();

    @Test
    void aCleanEndCompletesItUntilSomebodyAsksOrSomethingElseIsToRun() throws IOException {
        Path runs = homeostat.file("runs", "");
        Document job = onFailure(Document.script("job", "echo run >> " + runs));
        Document other = onFailure(Document.script("job", "echo other >> " + runs));

        homeostat.apply(job).exits(0).says("process/job  installed local");
        homeostat.apply(job).exits(0).says("1 unchanged");
        homeostat.run("plan", "--detailed-exitcode").exits(0).says("1 unchanged");
        homeostat.apply(job.with("health.interval", "1m")).exits(0).says("updated (spec.health.interval changed");
        assertEquals(List.of("run"), Files.readAllLines(runs));

        JsonNode status = homeostat.status("process/job");
        assertEquals("EXECUTION_COMPLETED", status.get("state").asText());
        assertEquals("True", Homeostat.condition(status, "Healthy"));
        assertEquals(0, status.at("/lastExit/code").asInt(-1));
        homeostat.run("status", "process/job").exits(0).says("status 0, at ");
        assertEquals(
                List.of("CONFIG_INSTALL local", "STARTED local", "INSTALLED local", "EXECUTION_COMPLETED local"),
                homeostat.events("process/job"));

        homeostat.run("start", "process/job").exits(0).says("completed");
        homeostat.run("restart", "process/job").exits(0).says("completed");
        assertEquals(List.of("run", "run", "run"), Files.readAllLines(runs));
        homeostat.apply(other).exits(0).says("arguments changed");
        assertEquals(List.of("run", "run", "run", "other"), Files.readAllLines(runs));
        homeostat.run("plan", "--detailed-exitcode").exits(0);
    }

    @Test
    void aFailureIsFollowedByALaunchAndWhatNeedsItWaitsForItsCleanEnd() throws IOException {
        Path runs = homeostat.file("runs", "");
        Document job = onFailure(
                Document.script("job", "echo run >> " + runs + "; [ $(wc -l < " + runs + ") -gt 1 ] || exit 3"));
        Document web = Document.script("web", "exec sleep 1000").with("dependsOn", List.of("process/job"));

        homeostat.apply(job, web).exits(0);

        assertEquals(List.of("run", "run"), Files.readAllLines(runs));
        assertEquals("EXECUTION_COMPLETED local", homeostat.state("process/job"));
        assertEquals("RUNNING local", homeostat.state("process/web"));
    }

    @Test
    void aCleanEndWhileNoAgentRunsIsKnownToTheNext() throws IOException {
        Path runs = homeostat.file("runs", "");
        Path go = homeostat.directory().resolve("go");
        homeostat.declare(
                "job.yaml",
                onFailure(Document.script(
                        "job",
                        "echo run >> " + runs + "; i=0; while [ ! -e " + go
                                + " ] && [ $i -lt 3000 ]; do i=$((i+1)); sleep 0.1; done")));
        AgentProcess agent = homeostat.agentProcess();
        homeostat.awaitRunning("process/job");

        agent.kill();
        Files.createFile(go);
        eventually().until(() -> homeostat.processes("process/job").isEmpty());
        homeostat.agent();

        // An agent that still starts has not written the event of what status sees.
        eventually()
                .untilAsserted(() -> assertEquals(
                        List.of(
                                "CONFIG_INSTALL local",
                                "STARTED local",
                                "INSTALLED local",
                                "EXECUTION_COMPLETED local"),
                        homeostat.events("process/job")));
        assertEquals("EXECUTION_COMPLETED local", homeostat.state("process/job"));
        assertEquals(List.of("run"), Files.readAllLines(runs));
    }

    @Test
    void theEndOfWhatWasBeingStoppedByWhoeverWasKilledIsNoCleanOne() throws IOException {
        Path runs = homeostat.file("runs", "");
        Path term = homeostat.directory().resolve("term");
        Path go = homeostat.directory().resolve("go");
        Path file = homeostat.file(
                "job.yaml",
                onFailure(Document.script(
                        "job",
                        "trap 'touch " + term + "; while [ ! -e " + go + " ]; do sleep 0.1; done; exit 0' TERM; "
                                + "echo run >> " + runs
                                + "; i=0; while [ $i -lt 3000 ]; do i=$((i+1)); sleep 0.1; done")));
        homeostat.apply(file).exits(0);
        Files.delete(homeostat.instance().resolve("agent_state/processes/job/process.log"));
        Command repair = homeostat.start("apply", "-f", file.toString());
        eventually().until(() -> Files.exists(term));

        homeostat.checked(repair.kill());
        Files.createFile(go);
        eventually().until(() -> homeostat.processes("process/job").isEmpty());
        homeostat.apply(file).exits(0);

        assertEquals("RUNNING local", homeostat.state("process/job"));
        assertEquals(List.of("run", "run"), Files.readAllLines(runs));
    }

    @Test
    void eachBootRunsItOnce() throws IOException, SQLException {
        Path runs = homeostat.file("runs", "");
        Document job = onFailure(Document.script("job", "echo run >> " + runs));
        homeostat.apply(job).exits(0);
        try (Connection database = DriverManager.getConnection(
                        "jdbc:sqlite:" + homeostat.stateDir().resolve("homeostat.db"));
                Statement update = database.createStatement()) {
            assertEquals(
                    1,
                    update.executeUpdate(
                            "UPDATE history SET document = json_set(document, '$.run.completed.bootId', 'before')"));
        }

        homeostat.run("plan", "--detailed-exitcode").exits(2).says("the machine has booted since it completed");
        homeostat.apply(job).exits(0);
        homeostat.apply(job).exits(0).says("1 unchanged");

        assertEquals(List.of("run", "run"), Files.readAllLines(runs));
    }

    private static Document onFailure(Document document) {
        return document.with("restart.policy", "onFailure");
    }
}
