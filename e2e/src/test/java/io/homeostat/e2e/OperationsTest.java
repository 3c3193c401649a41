package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** What an operator asks of what runs. */
final class OperationsTest {
    @RegisterExtension
    final Homeostat homeostat = new Homeostat();

    @Test
    void aRunningPluginIsToldWatchedVerifiedStoppedStartedAndRemoved() {
        Agent agent = homeostat.agent();
        homeostat
                .apply(Document.greeter(
                                "greeter",
                                "1",
                                SampleProgram.GREETER.light().toUri().toString())
                        .with("config.string", "hello"))
                .exits(0);
        homeostat.awaitRunning("plugin/greeter");
        long pid = homeostat.pid("plugin/greeter");
        String configHash = homeostat.status("plugin/greeter").get("configHash").asText();

        JsonNode told =
                homeostat.run("vm-event", "startup", "-o", "json").exits(0).json();
        assertEquals(0, told.get("plugins").get(0).get("code").asInt(), told::toString);
        homeostat
                .run("watch", "plugin/greeter", "--request", "any", "--code", "0", "--timeout", "1m")
                .exits(0)
                .says("{\"Command\":\"VmEvent\",\"Event\":\"startup\"}");
        assertEquals(
                configHash, homeostat.status("plugin/greeter").get("configHash").asText());
        assertEquals(pid, homeostat.pid("plugin/greeter"), "an event is no change of configuration");
        homeostat.run("verify", "plugin/greeter", "--revision", "1").exits(0).says("plugin/greeter ");
        homeostat.run("verify", "plugin/greeter", "--revision", "2").exits(1).says("not 2");
        JsonNode states = homeostat.run("states", "-o", "json").exits(0).json();
        assertEquals(
                "RUNNING",
                states.at("/daemonPluginStates/0/currentPluginStatus/status").asText(),
                states::toString);

        homeostat.run("stop", "plugin/greeter").exits(0);
        assertEquals(List.of(), homeostat.processes("plugin/greeter"));
        homeostat.run("status", "plugin/greeter").exits(1).says("StoppedByUser");
        homeostat.run("verify", "plugin/greeter", "--revision", "1").exits(1);
        homeostat.run("vm-event", "shutdown").exits(0).says("501");
        homeostat.run("start", "plugin/greeter").exits(0);
        homeostat.awaitRunning("plugin/greeter");

        homeostat.run("reset").exits(1).says("plugin/greeter");
        assertEquals(1, homeostat.processes("plugin/greeter").size());
        homeostat.run("reset", "--yes").exits(0);
        eventually().until(() -> homeostat.processes("plugin/greeter").isEmpty());
        assertTrue(homeostat.events("plugin/greeter").contains("REMOVED 1"));
        agent.terminate().exits(0);
    }

    @Tag("nightly")
    @Test
    void questionsTakeSeveralNamesLabelsOrAll() {
        String archive = SampleProgram.GREETER.light().toUri().toString();
        homeostat.applied(
                Document.script("a", "exec sleep 1000").with("revision", "1").label("team", "sre"),
                Document.script("b", "exec sleep 1000").with("revision", "2").label("team", "web"),
                Document.greeter("p", "1", archive).label("team", "sre"),
                Document.greeter("q", "1", archive));

        homeostat
                .run("history", "-l", "team=sre")
                .exits(0)
                .says("process/a:")
                .says("plugin/p:")
                .doesNotSay("process/b");
        assertEquals(
                List.of("plugin/p", "plugin/q", "process/a", "process/b"),
                homeostat
                        .run("history", "--all", "-o", "json")
                        .exits(0)
                        .json()
                        .get("workloads")
                        .findValuesAsText("workload"));
        homeostat
                .run("history", "process/a", "process/no")
                .exits(3)
                .says("process/a:")
                .says("process/no");
        homeostat.run("history", "-l", "team=no").exits(1).says("nothing that was ever launched is declared here with");
        homeostat.run("history").exits(64).says("-l LABEL=VALUE");

        homeostat.run("verify", "-l", "team=sre", "--revision", "1").exits(0).says("process/a ");
        JsonNode verified = homeostat
                .run("verify", "--all", "--revision", "1", "-o", "json")
                .exits(1)
                .json();
        assertEquals(
                List.of("true", "true", "true", "false"),
                verified.get("workloads").findValuesAsText("verified"));
        homeostat.run("verify", "-l", "team=no", "--revision", "1").exits(1).says("team=no");

        homeostat
                .run("watch", "--all", "--timeout", "1m")
                .exits(0)
                .says("plugin/p answered 0")
                .says("plugin/q answered 0");
        homeostat
                .run("watch", "plugin/p", "plugin/no", "--timeout", "1s")
                .exits(1)
                .says("plugin/no ");
        homeostat.run("watch", "process/a").exits(64).says("process/a is no plugin");
        homeostat.run("watch", "-l", "team=web").exits(1).says("nothing that is a plugin is declared here");

        homeostat
                .run("events", "-l", "team=sre")
                .exits(0)
                .says("process/a")
                .says("plugin/p")
                .doesNotSay("process/b");
        homeostat.run("events", "--all").exits(0).says("process/b");
        homeostat.run("events", "-l", "team=no").exits(1).says("team=no");
        homeostat.run("events", "-l", "team=sre", "--for", "process/b").exits(64);
    }
}
