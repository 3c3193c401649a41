package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.util.List;
import java.util.function.Supplier;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** What anybody's agent of a guest does, by what our own host asks of it. */
abstract class KataAgentContract {
    static final String APP = "container/app";
    static final String IDLE = "echo ready; trap 'exit 0' TERM; while :; do sleep 0.1; done";
    private static final long MEBIBYTE = 1 << 20;

    @RegisterExtension
    @Order(1)
    final KataAgent agent;

    @RegisterExtension
    @Order(2)
    final Homeostat homeostat = new Homeostat();

    KataAgentContract(KataAgent agent) {
        this.agent = agent;
    }

    Agent running(Document... documents) {
        return running(homeostat::agent, documents);
    }

    private <A extends Agent> A running(Supplier<A> start, Document... documents) {
        homeostat.declare("all.yaml", documents);
        A enforcing = start.get();
        homeostat.awaitRunning(APP);
        return enforcing;
    }

    List<String> log() {
        return homeostat.run("logs", APP).out().lines().toList();
    }

    @Test
    void aContainerIsMadeOnceAndGoesWithItsDeclaration() throws IOException {
        Document[] all = {agent.sandbox(), agent.container("app", IDLE)};

        homeostat.applied(all);
        homeostat.run("plan", "--detailed-exitcode").exits(0);
        homeostat.applied(all);
        assertEquals(0, homeostat.status(APP).get("restarts").asInt());
        homeostat.run("describe", "sandbox/guest").exits(0);

        homeostat.run("delete", APP).exits(0);
        homeostat.run("delete", "sandbox/guest").exits(0);
        homeostat.run("plan", "--detailed-exitcode").exits(0);
    }

    @Test
    void allThatItPrintsIsItsLogAndHowItEndsIsKnown() throws IOException {
        homeostat.declare(
                "all.yaml",
                agent.sandbox(),
                agent.container(
                                "app",
                                "i=0; while [ $i -lt 5000 ]; do i=$((i+1)); echo $i; done; echo last >&2; exit 3")
                        .with("execution.type", "oneShot")
                        .with("execution.triggers.startup", true)
                        .with("restart.policy", "never"));
        homeostat.agent();

        eventually().until(() -> homeostat.status(APP).at("/lastExit/code").asInt() == 3);

        List<String> lines = log();
        assertEquals(5001, lines.size());
        assertTrue(lines.contains("5000") && lines.contains("last"), lines::toString);
    }

    @Test
    void oneThatIsKilledIsMadeAnew() throws IOException {
        Agent _ = running(agent.sandbox(), agent.container("app", IDLE));

        homeostat.run("signal", APP, "SIGKILL").exits(0);

        eventually().until(() -> homeostat.status(APP).get("restarts").asInt() == 1);
        homeostat.awaitRunning(APP);
        JsonNode exit = homeostat.status(APP).get("lastExit");
        assertEquals(137, exit.get("code").asInt(), exit::toString);
    }

    @Test
    void oneOutlivesAnAgentOfOursThatIsKilled() throws IOException {
        AgentProcess first = running(homeostat::agentProcess, agent.sandbox(), agent.container("app", IDLE));
        eventually().until(() -> log().equals(List.of("ready")));

        first.kill();
        homeostat.agent();

        homeostat.awaitRunning(APP);
        homeostat.run("plan", "--detailed-exitcode").exits(0);
        assertEquals(0, homeostat.status(APP).get("restarts").asInt());
        assertEquals(List.of("ready"), log());
    }

    @Test
    void commandsRunInIt() throws IOException {
        Agent _ = running(
                agent.sandbox(),
                agent.container("app", IDLE).with("probe.exec.command", List.of("/bin/test", "-d", "/proc/1")));

        homeostat
                .checked(homeostat
                        .shell("echo in | $HS exec -i " + APP + " -- /bin/sh -c 'cat; echo err >&2; exit 5'")
                        .await(Patience.LONGEST))
                .exits(5)
                .says("in")
                .says("err");
    }

    @Test
    void limitsAreChangedInPlace() throws IOException {
        Document app = agent.container("app", IDLE);
        homeostat.applied(agent.sandbox(), app.with("limits.memory", "64Mi"));

        homeostat.applied(agent.sandbox(), app.with("limits.memory", "96Mi").with("limits.cpu", "50%"));

        assertEquals(0, homeostat.status(APP).get("restarts").asInt());
        homeostat.run("plan", "--detailed-exitcode").exits(0);
        homeostat.applied(
                agent.sandbox(),
                app.with("limits.memory", "96Mi").with("limits.cpu", "50%").with("frozen", true));
        homeostat.run("plan", "--detailed-exitcode").exits(0);
    }

    @Test
    void whatItUsesIsShown() throws IOException {
        Agent _ = running(
                agent.sandbox().with("metrics.interval", "1s"),
                agent.container("app", "while :; do :; done").with("metrics.interval", "1s"));

        for (String workload : List.of(APP, "sandbox/guest")) {
            eventually().until(() -> {
                JsonNode metrics = homeostat.status(workload).path("metrics");
                return metrics.path("memoryBytes").asLong() > 0
                        && metrics.path("cpuPercent").asDouble() > 0;
            });
        }
        assertTrue(homeostat.status(APP).at("/metrics/memoryBytes").asLong() < 64 * MEBIBYTE);
    }
}
