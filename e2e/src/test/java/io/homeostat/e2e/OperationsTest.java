package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** What an operator asks of plugins that run, through a running agent. */
final class OperationsTest {
    @RegisterExtension
    final Homeostat homeostat = new Homeostat();

    @Test
    void aRunningPluginIsToldWatchedVerifiedStoppedStartedAndRemoved() {
        Agent agent = homeostat.agent();
        homeostat
                .apply(Document.greeter(
                                "greeter", "1", Distribution.greeter().toUri().toString())
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
        homeostat.run("verify", "plugin/greeter", "--revision", "1").exits(0).says("plugin/greeter runs at revision 1");
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
}
