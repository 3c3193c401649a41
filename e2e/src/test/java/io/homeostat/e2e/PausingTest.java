package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** What is paused is left alone, whatever becomes of it, until it is resumed. */
final class PausingTest {
    @RegisterExtension
    final Homeostat homeostat = new Homeostat();

    @Test
    void aRestartIsAnotherProcessOfTheSameWithAndWithoutAnAgent() {
        homeostat.applied(sleeper("web", "sre"), sleeper("other", "sre"));
        long web = homeostat.pid("process/web");
        long other = homeostat.pid("process/other");

        homeostat.run("restart", "process/web").exits(0).says("process/web  restarted");

        long second = homeostat.pid("process/web");
        assertNotEquals(web, second);
        assertEquals(other, homeostat.pid("process/other"));
        homeostat.run("plan", "--detailed-exitcode").exits(0);
        homeostat.agent();
        homeostat.run("restart", "--all").exits(0);
        assertNotEquals(second, homeostat.pid("process/web"));
        assertNotEquals(other, homeostat.pid("process/other"));
        homeostat.run("stop", "process/web").exits(0);
        homeostat.run("restart", "process/web").exits(0);
        homeostat.run("status").exits(0);
        homeostat.run("trigger", "process/web").exits(1).says("no one-shot");
        homeostat.run("restart", "process/wbe").exits(1).says("process/wbe");
    }

    @Test
    void aOneShotRunsOnceMoreWhenItIsTriggered() {
        homeostat.applied(Document.process("backup")
                .with("install", "local")
                .with("entryPoint", "/bin/true")
                .with("execution.type", "oneShot")
                .with("execution.triggers.startup", true));
        assertEquals(1, runs());

        homeostat.run("trigger", "process/backup").exits(0);
        assertEquals(2, runs());
        homeostat
                .run(
                        "apply",
                        "-f",
                        homeostat.directory().resolve("desired.yaml").toString())
                .exits(0);
        assertEquals(2, runs());
        homeostat.agent();
        homeostat.run("trigger", "process/backup").exits(0);

        assertEquals(3, runs());
        homeostat.run("restart", "process/backup").exits(1).says("homeostat trigger process/backup");
    }

    private long runs() {
        return homeostat.events("process/backup").stream()
                .filter("EXECUTION_COMPLETED local"::equals)
                .count();
    }

    @Test
    void labelsChooseWhatACommandIsAbout() {
        homeostat.applied(sleeper("web", "sre"), sleeper("api", "sre"), sleeper("db", "dba"));

        homeostat
                .run("stop", "-l", "team=sre")
                .exits(0)
                .says("process/web")
                .says("process/api")
                .doesNotSay("process/db");
        homeostat.run("status", "-l", "team=dba").exits(0).says("process/db").doesNotSay("process/web");
        homeostat.run("start", "--all").exits(0);
        homeostat.run("stop", "-l", "team=nobody").exits(1).says("team=nobody");
        homeostat.run("stop").exits(64).says("-l LABEL=VALUE");
        homeostat.run("stop", "process/web", "--all").exits(64);
        homeostat.run("stop", "-l", "sre").exits(64).says("'sre' is no label");
        homeostat
                .run("status", "-l", "team=nobody")
                .exits(1)
                .says("team=nobody")
                .doesNotSay("process/db");
        homeostat.run("status", "process/db", "-l", "team=dba").exits(64).says("not both");
        homeostat.run("delete", "-l", "team=sre,nosuch=label").exits(1).says("nothing was applied here");
        homeostat.run("delete", "-l", "team=sre").exits(0);
        homeostat.run("status").exits(0).says("process/db").doesNotSay("process/web");
    }

    @Tag("nightly")
    @Test
    void whatIsResumedAfterItsDeletionIsRemovedAndThatIsSaid() {
        homeostat.agent();
        homeostat.applied(sleeper("web", "sre"));
        homeostat.declare("db.yaml", sleeper("db", "dba"));
        homeostat.awaitRunning("process/db");
        homeostat.run("pause", "--all", "--reason", "a look").exits(0);

        homeostat.run("delete", "process/web").exits(1).says("removed").says("(homeostat resume process/web)");
        homeostat.withdraw("db.yaml");
        eventually()
                .untilAsserted(() ->
                        homeostat.run("status", "process/db").says("removed").says("(homeostat resume process/db)"));

        homeostat
                .run("resume", "process/web", "process/db")
                .exits(0)
                .says("process/web is being removed, as it is no longer declared")
                .says("process/db is being removed")
                .doesNotSay("held back");
        eventually().until(() -> homeostat.statuses().get("workloads").isEmpty());
        homeostat
                .run("status", "process/web", "process/db")
                .exits(1)
                .says("process/web")
                .says("process/db");
    }

    @Tag("nightly")
    @Test
    void labelsAreThoseOfTheDeclarationThatCounts() {
        homeostat.agent();
        homeostat.declare("web.yaml", sleeper("web", "dba"));
        homeostat.awaitRunning("process/web");
        homeostat.applied(sleeper("web", "sre"));

        homeostat.run("stop", "-l", "team=dba").exits(1).says("team=dba");

        assertTrue(homeostat.pid("process/web") > 0);
    }

    @Test
    void aProgramIsAskedToEndByTheSignalThatIsDeclared() {
        homeostat.applied(Document.process("web")
                .with("install", "local")
                .with("entryPoint", "/bin/sh")
                .with("stop.signal", "SIGINT")
                .arguments(
                        "-c",
                        "trap 'echo interrupted; exit 7' INT; trap '' TERM; echo ready; while :; do sleep 0.05; done"));
        eventually().until(() -> homeostat.run("logs", "process/web").out().contains("ready"));

        homeostat.run("stop", "process/web").exits(0);

        homeostat.run("logs", "process/web").says("interrupted");
    }

    private static Document sleeper(String name, String team) {
        return Document.process(name)
                .label("team", team)
                .with("install", "local")
                .with("entryPoint", "/bin/sleep")
                .arguments("1000");
    }

    @Tag("nightly")
    @Test
    void withoutAnAgentADependencyIsStoppedStartedAndDeletedLikeAnyOther() {
        Document database = Document.process("db")
                .with("install", "local")
                .with("entryPoint", "/bin/sleep")
                .arguments("1000");
        Document web = Document.process("web")
                .with("install", "local")
                .with("entryPoint", "/bin/sleep")
                .with("dependsOn", List.of("process/db"))
                .arguments("1000");
        homeostat.applied(database, web);
        long pid = homeostat.pid("process/web");

        for (String command : List.of("stop", "start", "delete")) {
            homeostat
                    .runProcess(command, "process/db")
                    .exits(0)
                    .doesNotSay("Exception")
                    .doesNotSay("process/web  ")
                    .doesNotSay("ERROR");
        }

        assertEquals(pid, homeostat.pid("process/web"));
        homeostat
                .runProcess("delete", "process/web")
                .exits(0)
                .doesNotSay("Exception")
                .doesNotSay("process/db");
    }

    @Test
    void aPausedProcessStaysDeadUntilItIsResumed() {
        Document sleeper = Document.script("sleeper", "exec sleep 1000");
        homeostat.applied(sleeper);
        homeostat
                .run("pause", "process/sleeper", "--reason", "a look by hand")
                .exits(0)
                .says("process/sleeper is paused");
        long killed = homeostat.kill("process/sleeper");

        homeostat.apply(sleeper).exits(1).says("a look by hand");

        assertEquals(List.of(), homeostat.processes("process/sleeper"));
        JsonNode status = homeostat.status("process/sleeper");
        assertTrue(status.get("pid").isNull(), status::toString);
        assertEquals("CRASHED", status.get("state").asText());
        assertEquals("True", Homeostat.condition(status, "Paused"));
        assertEquals("False", Homeostat.condition(status, "Converged"));
        // Nothing was done, but what happened is known.
        assertTrue(homeostat.events("process/sleeper").stream().anyMatch(event -> event.startsWith("CRASHED")));

        homeostat.run("resume", "process/sleeper").exits(0).says("process/sleeper ");
        homeostat.applied(sleeper);

        assertNotEquals(killed, homeostat.pid("process/sleeper"));
        assertEquals("False", Homeostat.condition(homeostat.status("process/sleeper"), "Paused"));
        List<String> events = homeostat.events("process/sleeper");
        assertTrue(events.contains("AGENT_PAUSED "), events::toString);
        assertTrue(events.contains("AGENT_RESUMED "), events::toString);
    }
}
