package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** The networks of tasks: ours for {@code none}, and those that drivers make. */
@Tag("nightly")
final class TaskNetworkTest {
    private static final String DRIVER = "driver/runner";
    private static final String WEB = "task/web";

    @TempDir
    static Path directory;

    private static SampleDriver sample;

    @RegisterExtension
    final Homeostat homeostat = new Homeostat();

    @BeforeAll
    static void unpack() {
        sample = SampleDriver.in(directory);
    }

    private static Document runner() {
        return sample.local("runner", "1");
    }

    /** One that makes networks itself. */
    private static Document maker(String... faults) {
        return runner().with(
                        "config.faults",
                        Stream.concat(Stream.of("create-network"), Stream.of(faults))
                                .toList());
    }

    private static Document web(String mode) {
        return Document.task("web", "runner", "cat /proc/net/dev; exec sleep 1000")
                .with("network.mode", mode);
    }

    private long calls(String rpc) {
        return homeostat
                .run("logs", DRIVER, "--tail", "1000")
                .out()
                .lines()
                .filter(line -> line.contains("\"@message\":\"" + rpc + "\""))
                .count();
    }

    private String log() {
        return homeostat.run("logs", WEB).out();
    }

    private List<String> mounted() throws IOException {
        return Files.readAllLines(Path.of("/proc/self/mounts")).stream()
                .filter(line -> line.contains(homeostat.runDir() + "/networks/"))
                .toList();
    }

    @Test
    void withNoneATaskHasANetworkOfItsOwnWithNothingInIt() throws IOException {
        assumeTrue(Files.isWritable(Path.of("/proc/sys/kernel/hostname")), "only root makes network namespaces");
        homeostat.declare("all.yaml", runner(), web("none"));
        AgentProcess agent = homeostat.agentProcess();

        eventually().until(() -> log().contains("lo:"));
        assertEquals(
                1, log().lines().filter(line -> line.matches(" *[a-z0-9]+:.*")).count(), this::log);
        assertEquals(1, mounted().size());
        long pid = homeostat.process(WEB);
        agent.kill();
        Agent next = homeostat.agent();
        homeostat.awaitRunning(WEB);
        assertEquals(pid, homeostat.process(WEB));
        Processes.kill(pid);
        homeostat.awaitAnother(WEB, pid);

        homeostat.declare("all.yaml", runner());
        eventually().until(() -> mounted().isEmpty());
        // The file goes after what was mounted on it.
        eventually().until(() -> {
            try (var left = Files.list(homeostat.runDir().resolve("networks"))) {
                return left.count() == 0;
            }
        });
        assertTrue(next.isRunning());
    }

    @Test
    void aDriverThatMakesNetworksIsAskedToAndToRemoveThem() {
        homeostat.declare("all.yaml", maker(), web("group"));
        homeostat.agent();
        homeostat.awaitRunning(WEB);

        assertEquals(1, calls("CreateNetwork"));
        assertTrue(
                homeostat.run("logs", DRIVER).out().contains("\"network\":\"GROUP {alloc_id="),
                () -> homeostat.run("logs", DRIVER).out());
        long pid = homeostat.process(WEB);
        Processes.kill(pid);
        homeostat.awaitAnother(WEB, pid);
        eventually().until(() -> calls("CreateNetwork") == 2);
        assertEquals(1, calls("DestroyNetwork"));
        homeostat.awaitRunning(WEB);

        long second = homeostat.process(WEB);
        homeostat.declare("all.yaml", maker(), web("host"));
        homeostat.awaitAnother(WEB, second);
        eventually().until(() -> calls("DestroyNetwork") == 2);

        homeostat.declare("all.yaml", maker(), web("group"));
        eventually().until(() -> calls("CreateNetwork") == 3);
        homeostat.awaitRunning(WEB);
        homeostat.declare("all.yaml", maker());
        eventually().until(() -> calls("DestroyNetwork") == 3);
    }

    @Test
    void whatADriverDoesNotOfferIsRefusedBeforeAnythingIsStopped() {
        homeostat.applied(runner(), web("host"));
        long pid = homeostat.process(WEB);

        homeostat
                .apply(runner(), web("task"))
                .exits(1)
                .says(
                        "spec.network.mode: its driver runner does not offer task; use host or one of those that it offers: group, none");
        homeostat.apply(runner(), web("group")).exits(1).says("its driver runner makes no networks");

        assertEquals(pid, homeostat.process(WEB));
    }

    @Test
    void aNetworkThatCanNotBeMadeIsAFailedLaunchAndOneThatCanNotBeRemovedHoldsNobodyUp() {
        homeostat
                .apply(maker("create-network-error"), web("group").with("start.attempts", 1))
                .exits(1)
                .says("its driver could not make its network: CreateNetwork failed with UNKNOWN: told to fail");

        homeostat.declare("all.yaml", maker("destroy-network-error"), web("group"));
        homeostat.run("delete", "--all").exits(0);
        Agent agent = homeostat.agent();
        homeostat.awaitRunning(WEB);
        homeostat.declare("all.yaml", maker("destroy-network-error"));
        agent.awaitSaying("its driver runner does not remove its network: DestroyNetwork failed with UNKNOWN");
        eventually().until(() -> !homeostat.run("status").out().contains(WEB));
    }

    @Test
    void aNetworkThatWasAboutToBeMadeWhenTheAgentDiedIsRemovedWithItsTask() throws IOException {
        Path note;
        try (KillPoint kill = new KillPoint("io.homeostat.observe.driver.DriverSession.createNetwork")) {
            homeostat.declare("driver.yaml", maker());
            homeostat.environment("JAVA_TOOL_OPTIONS", kill.option());
            AgentProcess agent = homeostat.agentProcess();
            homeostat.environment("JAVA_TOOL_OPTIONS", "-Dnot=debugged");
            homeostat.awaitRunning(DRIVER);
            kill.arm();
            homeostat.declare("web.yaml", web("group"));
            kill.await();
            agent.kill();
            note = note();
            assertTrue(Files.exists(note));
        }
        homeostat.withdraw("web.yaml");

        homeostat.agent();

        eventually().until(() -> calls("DestroyNetwork") == 1);
        eventually().until(() -> !Files.exists(note));
        eventually().until(() -> !homeostat.run("status").out().contains(WEB));
    }

    private Path note() throws IOException {
        try (var notes = Files.find(
                homeostat.instance().resolve("allocations"), 2, (file, facts) -> file.endsWith(".network-web"))) {
            return notes.findFirst().orElseThrow();
        }
    }
}
