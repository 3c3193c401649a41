package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** That a driver which is written in Go, over the library that all drivers of Nomad use, is hosted as the sample driver is. */
@Tag("nightly")
final class GoDriverTest {
    private static final String DRIVER = "driver/go";
    private static final String WEB = "task/web";

    @TempDir
    static Path directory;

    private static GoDriver driver;

    @RegisterExtension
    final Homeostat homeostat = new Homeostat();

    @BeforeAll
    static void build() {
        driver = GoDriver.build(directory);
    }

    private static Document web(String script) {
        return Document.task("web", "go", script).with("env.COLOUR", "blue").with("revision", "1");
    }

    private Result exec(String script) {
        return homeostat.exec(WEB, "/bin/sh", "-c", script);
    }

    @Test
    void itsTasksOutliveItAndTheAgentAndTheirEndsAreKnown() {
        homeostat.declare("driver.yaml", driver.document());
        homeostat.declare("web.yaml", web("echo I am $COLOUR; exec sleep 1000"));
        AgentProcess agent = homeostat.agentProcess();
        homeostat.awaitRunning(WEB);
        long pid = homeostat.process(WEB);
        eventually().until(() -> homeostat.run("logs", WEB).out().contains("I am blue"));

        agent.kill();
        Processes.kill(homeostat.pid(DRIVER));
        homeostat.agent();
        homeostat.awaitRunning(WEB);
        assertEquals(pid, homeostat.process(WEB));

        Processes.kill(pid);
        homeostat.awaitAnother(WEB, pid);
        homeostat.awaitRunning(WEB);
        long second = homeostat.process(WEB);
        Processes.kill(second);
        homeostat.awaitAnother(WEB, second);
        eventually().until(() -> homeostat.status(WEB).at("/lastExit/signal").asInt() == 9);

        homeostat.withdraw("web.yaml");
        eventually()
                .until(() -> homeostat.processes(WEB).isEmpty()
                        && !homeostat.run("status").out().contains(WEB));
    }

    @Test
    void whatItSaysIsReadAndWhatItCanDoIsUsed() {
        homeostat.declare("driver.yaml", driver.document());
        homeostat.declare("web.yaml", web("trap 'echo got it; exit 3' USR1; echo ready; while :; do sleep 0.1; done"));
        homeostat.agent();
        eventually().until(() -> homeostat.run("logs", WEB).out().contains("ready"));

        homeostat
                .run("describe", DRIVER)
                .exits(0)
                .says("go_driver")
                .says("1.2.3")
                .says("healthy");
        homeostat.run("explain", DRIVER).exits(0).says("greeting").says("command");
        homeostat.run("logs", DRIVER).exits(0).says("configured").says("\"@level\":\"warn\"");
        exec("echo $COLOUR; exit 7").exits(7).says("blue");
        homeostat.run("signal", WEB, "USR1").exits(0);
        eventually().until(() -> homeostat.run("logs", WEB).out().contains("got it"));
        homeostat
                .apply(driver.document(), web("exit 0").with("config.comand", "x"))
                .exits(1)
                .says("spec.config.comand");
    }

    @Test
    void whatItRefusesIsSaid() {
        homeostat
                .apply(
                        driver.document(),
                        Document.task("web", "go")
                                .with("config.command", "/no/such/program")
                                .with("config.args", List.of())
                                .with("start.attempts", 1))
                .exits(1)
                .says("fork/exec ");
    }
}
