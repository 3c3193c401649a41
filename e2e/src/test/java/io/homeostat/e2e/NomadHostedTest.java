package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Both sides of the same protocol, ours: an agent hosts {@code homeostat nomad-driver} as it does any driver of Nomad. */
@Tag("nightly")
final class NomadHostedTest {
    private static final String DRIVER = "driver/homeostat";
    private static final String WEB = "task/web";

    /** Whose driver it is. */
    @RegisterExtension
    final Homeostat host = new Homeostat();

    /** What the driver declares its tasks to. */
    @RegisterExtension
    final Homeostat inner = new Homeostat();

    private @Nullable AgentProcess agent;

    /** Whatever the test came to, nobody may start anything any more. */
    @AfterEach
    void endAgentsAndDriver() {
        if (agent != null) {
            Result _ = agent.kill();
        }
        host.processes(DRIVER).forEach(process -> Processes.kill(process.pid()));
        NomadPlugin.endAgent(inner);
    }

    private Document driver() {
        return Document.driver("homeostat")
                .with("install", "local")
                .with("entryPoint", Distribution.program().toString())
                .with("arguments", List.of("nomad-driver"))
                .with("env.JAVA_HOME", System.getProperty("java.home"))
                .with("config.state_dir", inner.stateDir().toString())
                .with("config.run_dir", inner.runDir().toString())
                .with("start.timeout", "2m");
    }

    private static Document web(String script) {
        return Document.task("web", "homeostat")
                .with("config.entry_point", "/bin/sh")
                .with("config.arguments", List.of("-c", script))
                .with("env.COLOUR", "blue")
                .with("start.timeout", "1m")
                .with("stop.timeout", "10s");
    }

    /** Those of its tasks. */
    private List<Processes.Seen> innerProcesses() {
        return inner.everyProcess().stream()
                .filter(process -> process.workload().startsWith("process/nomad-web-") && !process.isKeeper())
                .toList();
    }

    private long innerPid() {
        List<Processes.Seen> all = innerProcesses();
        assertEquals(1, all.size(), all::toString);
        return all.getFirst().pid();
    }

    private Result exec(String script) {
        return host.exec(WEB, "/bin/sh", "-c", script);
    }

    @Test
    void whatOurHostDeclaresRunsThroughOurDriverAndSurvivesBoth() {
        host.declare("driver.yaml", driver());
        host.declare("web.yaml", web("echo I am $COLOUR; exec sleep 1000"));
        agent = host.agentProcess();
        host.awaitRunning(WEB);
        long pid = innerPid();

        eventually().until(() -> host.run("logs", WEB).out().contains("I am blue"));
        exec("echo $COLOUR; exit 7").exits(7).says("blue");
        host.run("describe", DRIVER).exits(0).says("healthy");
        assertEquals(
                List.of(host.pid(DRIVER)),
                host.processes(DRIVER).stream().map(Processes.Seen::pid).toList(),
                "the agent that it has started is none of its processes");

        agent.kill();
        Processes.kill(host.pid(DRIVER));
        agent = host.agentProcess();
        host.awaitRunning(WEB);
        assertEquals(pid, innerPid());

        Processes.kill(pid);
        eventually()
                .until(() -> host.status(WEB).at("/lastExit/signal").asInt() == 9
                        && host.run("status", WEB).exit() == 0);

        host.withdraw("web.yaml");
        eventually()
                .until(() ->
                        innerProcesses().isEmpty() && !host.run("status").out().contains(WEB));
    }
}
