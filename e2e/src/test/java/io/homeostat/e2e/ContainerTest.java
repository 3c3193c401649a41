package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.google.errorprone.annotations.CanIgnoreReturnValue;
import io.grpc.Status;
import io.homeostat.guest.CallLog;
import io.homeostat.proto.kata.CreateContainerRequest;
import io.homeostat.proto.kata.LinuxMemory;
import io.homeostat.proto.kata.LinuxResources;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Containers: made and started once, followed to their end with all that they print, changed in place where that is possible. */
final class ContainerTest {
    private static final String SANDBOX = "sandbox/guest";
    private static final String APP = "container/app";
    private static final long MEBIBYTE = 1 << 20;

    @RegisterExtension
    @Order(1)
    final Guest guest = new Guest();

    @RegisterExtension
    @Order(2)
    final Homeostat homeostat = new Homeostat();

    private static Document app(String script) {
        return Document.container("app", "guest", script);
    }

    private static Document idle() {
        return app("trap 'exit 0' TERM; while :; do sleep 0.1; done");
    }

    @CanIgnoreReturnValue
    private Result shell(String script) {
        return homeostat.checked(homeostat.shell(script).await(Patience.LONGEST));
    }

    /** An agent that has started them. */
    private Agent running(Document container) {
        homeostat.declare("all.yaml", guest.sandbox(), container);
        Agent agent = homeostat.agent();
        homeostat.awaitRunning(APP);
        return agent;
    }

    private String id() {
        return guest.agent().containers().iterator().next();
    }

    @Test
    void aContainerIsMadeAndStartedOnceAndTheNextApplyHasNothingToDo() {
        homeostat.applied(guest.sandbox(), idle());

        homeostat.run("plan", "--detailed-exitcode").exits(0);
        homeostat.applied(guest.sandbox(), idle());
        assertEquals(1, guest.fake().calls().count("CreateContainer"));
        assertEquals(1, guest.fake().calls().count("StartContainer"));
        assertEquals("True", Homeostat.condition(homeostat.status(APP), "Healthy"));

        homeostat.run("delete", APP).exits(0);
        assertEquals(Set.of(), guest.agent().containers());
        assertEquals(1, guest.fake().calls().count("RemoveContainer"));
        homeostat.run("plan", "--detailed-exitcode").exits(0);
    }

    @Tag("nightly")
    @Test
    void howASandboxIsIsAskedForItselfAloneAndByItsContainersOnlyWhetherItIsThere() {
        homeostat.applied(guest.sandbox(), idle());
        CallLog calls = guest.fake().calls();
        long before = calls.count("GetMetrics");

        homeostat.run("plan", "--detailed-exitcode").exits(0);

        assertEquals(before + 1, calls.count("GetMetrics"));
    }

    @Test
    void allThatItPrintsIsItsLogAndHowItEndsIsKnown() {
        homeostat.declare(
                "all.yaml",
                guest.sandbox(),
                app("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); echo line $i; done; echo last >&2; exit 3")
                        .with("execution.type", "oneShot")
                        .with("execution.triggers.startup", true)
                        .with("restart.policy", "never"));
        homeostat.agent();

        eventually().until(() -> homeostat.status(APP).at("/lastExit/code").asInt() == 3);

        List<String> lines = homeostat.run("logs", APP).out().lines().toList();
        assertEquals(20_001, lines.size());
        assertTrue(lines.contains("last"));
        assertTrue(lines.contains("line 20000"));
        assertEquals(1, guest.fake().calls().count("CreateContainer"));
    }

    @Tag("nightly")
    @Test
    void whoeverReadsItsInputComesToTheEndOfIt() {
        homeostat.applied(guest.sandbox(), app("cat; echo read it all; sleep 1000"));

        eventually().until(() -> homeostat.run("logs", APP).out().contains("read it all"));
    }

    @Tag("nightly")
    @Test
    void aGuestIsFreedOfTheStartOfWhatHasEndedBeforeIt() {
        homeostat.applied(guest.sandbox());
        guest.agent().endBeforeStart(true);
        homeostat
                .apply(guest.sandbox(), idle().with("start.timeout", "2s").with("restart.policy", "never"))
                .exits(1)
                .says("StartContainer ")
                .says(" 2000 ms");

        guest.agent().endBeforeStart(false);
        homeostat.applied(guest.sandbox(), idle());

        assertEquals(1, guest.agent().containers().size());
        assertEquals(1, guest.fake().calls().count("CreateSandbox"));
    }

    @Tag("nightly")
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void howAOneShotEndsIsKnownThoughItsAgentWasStartedAgain(boolean endsMeanwhile) throws IOException {
        Path end = guest.root().resolve("end");
        homeostat.declare(
                "all.yaml",
                guest.sandbox(),
                app("echo begin; until [ -e " + end + " ]; do sleep 0.1; done; echo end; exit 3")
                        .with("execution.type", "oneShot")
                        .with("execution.triggers.startup", true)
                        .with("restart.policy", "never"));
        AgentProcess agent = homeostat.agentProcess();
        eventually().until(() -> homeostat.run("logs", APP).out().contains("begin"));

        agent.kill();
        if (endsMeanwhile) {
            Files.createFile(end);
            homeostat.agent();
        } else {
            homeostat.agent().awaitReady();
            eventually().until(() -> homeostat.status(APP).get("state").asText().equals("RUNNING"));
            Files.createFile(end);
        }

        eventually().until(() -> homeostat.status(APP).at("/lastExit/code").isInt());
        assertEquals(3, homeostat.status(APP).at("/lastExit/code").asInt());
        assertEquals("begin\nend\n", homeostat.run("logs", APP).out());
        assertEquals(1, guest.fake().calls().count("CreateContainer"));
    }

    @Tag("nightly")
    @Test
    void anotherLimitIsNoOtherWorkAndNoOtherProgram() {
        Document once = Document.container("once", "guest", "echo ran")
                .with("execution.type", "oneShot")
                .with("execution.triggers.startup", true);
        homeostat.applied(guest.sandbox(), once, app("echo one; sleep 1000"));
        homeostat.applied(guest.sandbox(), once, app("echo two; sleep 1000"));
        homeostat.applied(
                guest.sandbox(),
                once.with("limits.memory", "64Mi"),
                app("echo two; sleep 1000").with("limits.memory", "64Mi"));
        assertEquals(3, guest.fake().calls().count("CreateContainer"));

        homeostat.run("rollback", APP).exits(0);

        assertEquals(4, guest.fake().calls().count("CreateContainer"));
        homeostat.run("describe", APP).says("echo one");
    }

    @Tag("nightly")
    @Test
    void oneThatEndsIsMadeAnewUnderAnotherId() {
        Agent _ = running(idle());
        String first = id();

        homeostat.run("signal", APP, "SIGKILL").exits(0);

        eventually().until(() -> guest.agent().containers().stream().anyMatch(id -> !id.equals(first)));
        homeostat.awaitRunning(APP);
        assertNotEquals(first, id());
        JsonNode exit = homeostat.status(APP).get("lastExit");
        assertEquals(137, exit.get("code").asInt(), exit::toString);
        assertEquals(1, guest.agent().containers().size(), "the first one is removed");
        assertEquals(1, guest.fake().calls().count("CreateSandbox"));
    }

    @Tag("nightly")
    @Test
    void thatMemoryHasRunOutIsSaidAndWhetherItWasReported() {
        Agent _ = running(idle().with("limits.memory", "64Mi"));
        String first = id();

        guest.agent().runOutOfMemory(first);
        eventually().until(() -> guest.agent().containers().stream().anyMatch(id -> !id.equals(first)));
        homeostat.awaitRunning(APP);
        homeostat.run("events").says("status 137, out of");

        String second = id();
        guest.agent().runOutOfMemoryUnnoticed(second);
        eventually().until(() -> guest.agent().containers().stream().anyMatch(id -> !id.equals(second)));
        eventually().until(() -> homeostat.run("events").out().contains("nobody has reported it"));
    }

    @Tag("nightly")
    @Test
    void whoIsKilledBySomebodyHasNotRunOutOfMemory() {
        Agent _ = running(idle().with("limits.memory", "64Mi"));
        guest.agent().useAllMemory(id());

        homeostat.run("signal", APP, "SIGKILL").exits(0);

        // Until the agent has noted how it has ended, a look by others tells that it has.
        eventually().until(() -> homeostat.status(APP).at("/lastExit/code").isInt());
        // Had it lived on for a while, it would be inferred: see above.
        assertEquals("SIGNALED", homeostat.status(APP).at("/lastExit/reason").asText());
    }

    @Tag("nightly")
    @Test
    void whatItPrintsIsReadByTheAgentAloneAndByNoCommandBesideIt() {
        Agent _ = running(idle());

        for (int signals = 0; signals < 5; signals++) {
            homeostat.run("signal", APP, "SIGURG").exits(0);
        }

        assertEquals(1, guest.fake().calls().count("ReadStdout"));
    }

    @Test
    void limitsAreChangedInPlaceAndPutBackAndOnlyALiftedOneTakesAnotherContainer() {
        Document limited = idle().with("limits.memory", "64Mi").with("limits.cpu", "50%");
        homeostat.applied(guest.sandbox(), limited);
        String first = id();
        assertEquals(64 * MEBIBYTE, guest.agent().resources(first).getMemory().getLimit());
        assertEquals(50_000, guest.agent().resources(first).getCPU().getQuota());

        homeostat.applied(guest.sandbox(), limited.with("limits.memory", "128Mi"));
        assertEquals(128 * MEBIBYTE, guest.agent().resources(first).getMemory().getLimit());

        guest.agent()
                .limit(
                        first,
                        LinuxResources.newBuilder()
                                .setMemory(LinuxMemory.newBuilder().setLimit(MEBIBYTE))
                                .build());
        homeostat.run("plan", "--detailed-exitcode").exits(2).says("limits.memory is 1Mi instead of 128Mi");
        homeostat.applied(guest.sandbox(), limited.with("limits.memory", "128Mi"));
        assertEquals(128 * MEBIBYTE, guest.agent().resources(first).getMemory().getLimit());
        assertEquals(first, id());

        homeostat
                .run(
                        "plan",
                        "-f",
                        homeostat.file("lifted.yaml", guest.sandbox(), idle()).toString())
                .says("limits.cpu and limits.memory ");
        homeostat.applied(guest.sandbox(), idle());
        assertNotEquals(first, id());
        assertFalse(guest.agent().resources(id()).hasMemory());
    }

    @Tag("nightly")
    @Test
    void aLimitThatAnAgentOnlyPretendsToSetIsSaid() {
        homeostat.applied(guest.sandbox(), idle().with("limits.pids", 20));

        homeostat.run("plan", "--detailed-exitcode").exits(0);
        homeostat
                .run("describe", APP)
                .says("limits.pids is not enforced by the agent of its guest, which says that it is not limited");
    }

    @Tag("nightly")
    @Test
    void aFrozenOneIsPausedInPlaceAndNoCommandIsRunInItUntilItIsNot() {
        homeostat.applied(guest.sandbox(), idle());
        String first = id();

        homeostat.applied(guest.sandbox(), idle().with("frozen", true));
        assertTrue(guest.agent().isPaused(first));
        homeostat.run("describe", APP).says("it is frozen, as declared");
        shell("$HS exec container/app -- true").exits(1).says("container/app is frozen");
        assertEquals(0, guest.fake().calls().count("ExecProcess"));

        homeostat.applied(guest.sandbox(), idle());
        assertFalse(guest.agent().isPaused(first));
        shell("$HS exec container/app -- true").exits(0);
        homeostat.applied(guest.sandbox(), idle().with("frozen", true));
        homeostat.run("delete", APP).exits(0);
        assertEquals(1, guest.fake().calls().count("CreateContainer"));
    }

    @Tag("nightly")
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aTerminalHasTheCallersSizeAndEachKeyIsTheCommands(boolean agent) {
        if (agent) {
            Agent _ = running(idle());
        } else {
            homeostat.applied(guest.sandbox(), idle());
        }
        homeostat.file("inside", Terminal.INSIDE);

        Terminal.talksTo(homeostat, "$HS exec -it container/app -- sh $PWD/inside");
    }

    @Test
    void commandsInItHaveItsEnvironmentAndTheirOwnOutputAndStatus() {
        homeostat.applied(guest.sandbox(), idle().with("env.GREETING", "hello"));

        Result result = shell("$HS exec container/app -- sh -c 'echo $GREETING; echo err >&2; exit 3'")
                .exits(3);
        assertEquals("hello\n", result.out());
        assertEquals("err\n", result.err());
        shell("$HS exec container/app -- no-such-program").exits(1).says("ExecProcess");
        shell("$HS exec container/app -- sh -c 'kill -9 $$'").exits(137);
        assertEquals("", shell("$HS exec container/app -- cat").exits(0).out(), "without -i there is nothing to read");
        Result copied = shell("""
                head -c 3000000 /dev/urandom >sent
                $HS exec -i container/app -- cat <sent >received || exit
                cmp sent received && echo same""");
        assertEquals("same\n", copied.exits(0).out());
    }

    @Test
    void aProbeInItDecidesWhetherItIsWell() {
        homeostat
                .apply(
                        guest.sandbox(),
                        idle().with("probe.exec.command", List.of("sh", "-c", "echo not yet; exit 4"))
                                .with("health.timeout", "30s")
                                .with("start.timeout", "2s")
                                .with("start.attempts", 1))
                .exits(1)
                .says("status 4; ")
                .says(": not yet");

        homeostat.applied(guest.sandbox(), idle().with("probe.exec.command", List.of("true")));
    }

    @Tag("nightly")
    @Test
    void whatItUsesIsShown() {
        Agent _ = running(app("while :; do :; done").with("metrics.interval", "1s"));

        eventually().until(() -> {
            JsonNode metrics = homeostat.status(APP).path("metrics");
            return metrics.path("memoryBytes").asLong() == MEBIBYTE
                    && metrics.path("cpuPercent").asDouble() > 0;
        });
    }

    @Tag("nightly")
    @Test
    void oneThatMayStillRunUnderAnAgentThatHasForgottenItIsNotMadeAgain() throws IOException {
        homeostat.applied(guest.sandbox(), idle());

        guest.fake().restartAgent();
        homeostat.apply(guest.sandbox(), idle()).exits(1).says("started again");

        assertEquals(1, guest.fake().calls().count("CreateContainer"));
        homeostat.run("describe", APP).says("another agent answers in its guest, which knows nothing of it");
    }

    @Tag("nightly")
    @Test
    void oneThatDoesNotEndIsKilledWithAllOfIt() {
        homeostat.applied(
                guest.sandbox(), app("trap : TERM; while :; do sleep 0.1; done").with("stop.timeout", "500ms"));

        homeostat.run("delete", APP).exits(0);

        homeostat.run("events").says("killed with all");
        assertEquals(Set.of(), guest.agent().containers());
    }

    @Test
    void aGuestThatBootsAnewGetsItsContainersAgain() throws IOException {
        homeostat.applied(guest.sandbox(), idle());

        guest.fake().reboot();
        homeostat.applied(guest.sandbox(), idle());

        assertEquals(2, guest.fake().calls().count("CreateSandbox"));
        assertEquals(2, guest.fake().calls().count("CreateContainer"));
        assertEquals(1, guest.fake().calls().mostInOneBoot("StartContainer"));
        assertEquals(1, guest.agent().containers().size());
    }

    @Tag("nightly")
    @Test
    void aGuestHasOneSandboxAndTheOneThatItHadBeforeItsBootDestroysNothing() throws IOException {
        homeostat.applied(Document.sandbox("other", "unix://" + guest.socket()));
        homeostat
                .apply(guest.sandbox().with("start.attempts", 1))
                .exits(1)
                .says("the guest at unix://" + guest.socket()
                        + " is that of sandbox/other, and a guest has one sandbox; correct spec.endpoint of one of them,"
                        + " or delete one");
        homeostat.run("pause", "sandbox/other", "--reason", "a test").exits(0);
        guest.fake().reboot();
        homeostat.run("resume", SANDBOX).exits(0);
        homeostat.applied(guest.sandbox(), idle());

        homeostat.run("describe", "sandbox/other").says("booted anew");
        homeostat.run("delete", "sandbox/other").exits(1).says("(homeostat resume sandbox/other)");
        homeostat.run("resume", "sandbox/other").exits(0);
        homeostat.applied(guest.sandbox(), idle());

        assertFalse(homeostat.run("status").out().contains("sandbox/other"));
        assertEquals(0, guest.fake().calls().count("DestroySandbox"));
        assertEquals(1, guest.agent().containers().size());
    }

    @Tag("nightly")
    @Test
    void aContainerWaitsForTheSandboxOfTheNewBootThoughNobodyHasLookedAtThatYet() throws IOException {
        homeostat.applied(guest.sandbox(), idle());

        guest.fake().reboot();

        JsonNode change = homeostat.change(APP);
        assertEquals("wait", change.at("/steps/0").asText(), change::toString);
        assertTrue(change.path("message").asText().contains("sandbox/guest"), change::toString);
    }

    @Tag("nightly")
    @Test
    void aSandboxThatIsChangedTakesItsContainersWithIt() throws IOException {
        homeostat.applied(guest.sandbox(), idle());

        homeostat.run("stop", SANDBOX, "--reason", "test").exits(0);
        assertEquals(1, guest.fake().calls().count("DestroySandbox"));
        guest.fake().reboot();
        homeostat.run("start", SANDBOX).exits(0);
        homeostat.applied(guest.sandbox(), idle());

        assertEquals(1, guest.agent().containers().size());
        assertEquals(2, guest.fake().calls().count("CreateSandbox"));
    }

    @Tag("nightly")
    @Test
    void aGuestThatHangsLeavesItAsItIsAndADeleteIsNotHeldUp() {
        homeostat.applied(guest.sandbox(), idle().with("health.timeout", "300ms"));

        guest.fake().faults().hang("StatsContainer");
        homeostat
                .run("status", APP)
                .exits(1)
                .says("its guest does not tell of it: StatsContainer ")
                .says(" 300 ms");
        guest.fake().faults().clear();
        homeostat.run("status", APP).exits(0);

        guest.fake().faults().hang("SignalProcess");
        guest.fake().faults().hang("RemoveContainer");
        homeostat.run("delete", APP).exits(0);
        homeostat.run("events").says("was given up: its guest does not answer");
        guest.fake().faults().clear();
        assertEquals(1, guest.fake().calls().count("CreateContainer"));
    }

    @Tag("nightly")
    @Test
    void whichCallAGuestIsBlockedByIsSaidUntilItAnswers() throws IOException {
        Agent _ = running(idle().with("health.timeout", "300ms"));
        guest.fake().faults().hang("CreateContainer");
        guest.fake().faults().hang("UpdateContainer");

        homeostat.declare("second.yaml", Document.container("second", "guest", "sleep 1000"));
        eventually()
                .until(() -> homeostat
                        .run("status", SANDBOX)
                        .out()
                        .matches("(?s).*blocked.*; CreateContainer, .* [0-9TZ:.-]{20,}, .*"));

        guest.fake().faults().clear();
        homeostat.awaitRunning("container/second");
        guest.fake().faults().hang("UpdateContainer");
        eventually().until(() -> {
            String out = homeostat.run("status", SANDBOX).out();
            return out.contains("blocked") && !out.matches("(?s).*blocked.*; [A-Z][A-Za-z]+, .*");
        });
        guest.fake().faults().clear();
    }

    @Tag("nightly")
    @Test
    void anAgentThatStartsAgainIsWaitedForAndThenLosesWhatIsDeleted() throws IOException {
        homeostat.applied(guest.sandbox(), idle());
        guest.fake().stopListening();

        Command deletion = homeostat.start("delete", APP);
        eventually().until(() -> homeostat.run("plan").out().contains("no longer declared"));
        guest.fake().listen();
        homeostat.checked(deletion.await(Patience.LONGEST)).exits(0);

        assertEquals(Set.of(), guest.agent().containers());
        assertEquals(1, guest.fake().calls().count("RemoveContainer"));
    }

    @Tag("nightly")
    @Test
    void oneThatCanNotBeStoppedIsNotReplaced() throws IOException {
        // It is neither lost nor seen without its guest before the stop is tried again, however long that takes.
        Document sandbox = guest.sandbox().with("health.failureThreshold", 100).with("health.interval", "10m");
        homeostat.declare("all.yaml", sandbox, idle().with("revision", "1").with("stop.timeout", "1s"));
        Agent _ = homeostat.agent();
        homeostat.awaitRunning(APP);
        // Its stop has begun: while a sandbox is seen without its guest, what is in it is not replaced.
        guest.fake().faults().hang("SignalProcess");
        homeostat.declare("all.yaml", sandbox, idle().with("revision", "2"));
        eventually().until(() -> guest.fake().calls().count("SignalProcess") > 0);
        guest.fake().stopListening();
        guest.fake().faults().clear();
        eventually().until(() -> homeostat.run("events").out().contains(" given up: "));
        guest.fake().listen();
        homeostat.declare("all.yaml", sandbox.with("health.interval", "1s"), idle().with("revision", "2"));

        eventually().until(() -> homeostat.state(APP).equals("RUNNING 2"));
        assertEquals(1, guest.agent().containers().size());
        assertEquals(2, guest.fake().calls().count("CreateContainer"));
    }

    @Tag("nightly")
    @Test
    void oneThatWasGivenUpIsRemovedOnceItsGuestIsBack() throws IOException {
        Agent _ = running(idle().with("stop.timeout", "1s"));
        guest.fake().stopListening();

        homeostat.declare("all.yaml", guest.sandbox());
        eventually().until(() -> homeostat.run("events").out().contains(" given up: "));
        guest.fake().listen();

        eventually().until(() -> guest.agent().containers().isEmpty());
    }

    @Tag("nightly")
    @Test
    void oneThatIsLeftOverStandsInTheWayOfItselfAlone() throws IOException {
        // It is not given up, too.
        Document sandbox = guest.sandbox().with("health.failureThreshold", 100);
        homeostat.applied(sandbox, idle().with("stop.timeout", "1s"));
        guest.fake().stopListening();
        homeostat.run("delete", APP).exits(0);
        guest.fake().listen();
        guest.fake().faults().refuse("RemoveContainer", Status.INTERNAL.withDescription("busy"));

        homeostat
                .apply(
                        sandbox,
                        idle().with("start.attempts", 1),
                        Document.container("other", "guest", "sleep 1000").with("stop.timeout", "1s"))
                .exits(1)
                .says("container/app: RemoveContainer: busy");
        assertEquals("RUNNING", homeostat.status("container/other").get("state").asText());

        guest.fake().faults().clear();
        homeostat.run("resume", APP).exits(0);
        eventually().until(() -> guest.agent().containers().size() == 2);
    }

    @Tag("nightly")
    @Test
    void aGuestThatIsGoneKeepsNothingFromBeingStopped() throws IOException {
        homeostat.declare(
                "all.yaml",
                guest.sandbox().with("health.interval", "1s").with("health.failureThreshold", 2),
                idle().with("stop.timeout", "1s"));
        homeostat.agent();
        homeostat.awaitRunning(APP);
        guest.fake().shutDown();

        homeostat.run("stop", SANDBOX, APP, "--reason", "test").exits(0);

        homeostat.run("status").says("stopped");
    }

    @Tag("nightly")
    @Test
    void aGuestInWhichNobodyListensAnyMoreHoldsUpADeleteForAsLongAsItsStopMayTake() throws IOException {
        homeostat.applied(guest.sandbox(), idle().with("stop.timeout", "1s"));
        guest.fake().shutDown();

        homeostat.run("delete", APP).exits(0);
        homeostat
                .run("events")
                .says("was given up: for 1s nobody has listened in its guest; if that comes back it is removed there");
    }

    @Tag("nightly")
    @Test
    void whatAnAgentRefusesIsSaidAndNothingIsLeft() {
        guest.fake().faults().refuse("StartContainer", Status.INTERNAL.withDescription("busy"));

        homeostat
                .apply(guest.sandbox(), idle().with("start.attempts", 1))
                .exits(1)
                .says("container/app: StartContainer: busy");
        assertEquals(Set.of(), guest.agent().containers());

        guest.fake().faults().clear();
        homeostat.applied(guest.sandbox(), idle());
        assertEquals(1, guest.agent().containers().size());
    }

    @Tag("nightly")
    @Test
    void aRootFileSystemFromAnArchiveIsCopiedOnceInEachBoot() throws IOException {
        byte[] noise = new byte[2_500_000];
        new Random(1).nextBytes(noise);
        byte[] archive = new TarGz()
                .file("bin/app", 0750, noise)
                .file("etc/empty", 0644, "")
                .file("etc/a.tmp", 0644, "one")
                .file("etc/a.txt", 0644, "other")
                .symlink("bin/link", "app")
                .bytes();
        Path file = Files.write(guest.root().resolve("rootfs.tar.gz"), archive);
        Document copied = idle().with("revision", "1")
                .with("rootfs", Map.of("readonly", true))
                .with("source.url", file.toUri().toString())
                .with("source.sha256", Hashes.sha256(archive));

        homeostat.applied(guest.sandbox(), copied);

        String rootfs =
                guest.agent().containersAskedFor().getLast().getOCI().getRoot().getPath();
        Path there = guest.root()
                .resolve("files")
                .resolve(rootfs.substring("/run/kata-containers/shared/containers/".length()));
        assertArrayEquals(noise, Files.readAllBytes(there.resolve("bin/app")));
        assertEquals(
                "rwxr-x---", PosixFilePermissions.toString(Files.getPosixFilePermissions(there.resolve("bin/app"))));
        assertEquals(0, Files.size(there.resolve("etc/empty")));
        assertEquals(Path.of("app"), Files.readSymbolicLink(there.resolve("bin/link")));
        try (Stream<Path> entries = Files.list(there)) {
            assertEquals(
                    Set.of("bin", "etc"),
                    entries.map(one -> one.getFileName().toString()).collect(Collectors.toSet()));
        }
        long calls = guest.fake().calls().count("CopyFile");
        assertEquals(
                12, calls, "three directories and two above them, three pieces of a file, three small ones and a link");
        assertEquals("one", Files.readString(there.resolve("etc/a.tmp")));
        assertEquals("other", Files.readString(there.resolve("etc/a.txt")));

        homeostat.applied(guest.sandbox(), copied.with("env.A", "b"));
        assertEquals(2, guest.fake().calls().count("CreateContainer"));
        assertEquals(calls, guest.fake().calls().count("CopyFile"));
        guest.fake().reboot();
        homeostat.applied(guest.sandbox(), copied.with("env.A", "b"));
        assertEquals(2 * calls, guest.fake().calls().count("CopyFile"));
    }

    @Tag("nightly")
    @Test
    void aNamespaceThatIsSharedEndsWithTheFirstContainerAndTheGuestIsToBootAnew() throws IOException {
        Document sandbox = guest.sandbox().with("sharedPidNamespace", true).with("health.interval", "1s");
        homeostat.declare("all.yaml", sandbox, idle().with("stop.timeout", "1s"));
        Agent _ = homeostat.agent();
        homeostat.awaitRunning(APP);
        homeostat.declare(
                "second.yaml",
                Document.container("second", "guest", "sleep 1000").with("stop.timeout", "1s"));
        homeostat.awaitRunning("container/second");

        homeostat.run("signal", APP, "SIGKILL").exits(0);

        eventually().until(() -> homeostat.run("status", SANDBOX).out().contains("shared namespace"));
        // The other one may have been asked for before the end of the first was known.
        assertTrue(guest.fake().calls().count("CreateContainer") <= 3, "what its agent refuses is not asked for again");
        guest.fake().reboot();
        homeostat.awaitRunning(APP);
        homeostat.awaitRunning("container/second");
        assertEquals(2, guest.agent().containers().size());
    }

    @Tag("nightly")
    @Test
    void noCommandIsBegunWhileAContainerIsBeingPaused() {
        Agent _ = running(idle());
        guest.fake().faults().hang("PauseContainer");
        homeostat.declare("all.yaml", guest.sandbox(), idle().with("frozen", true));
        eventually().until(() -> guest.fake().calls().count("PauseContainer") == 1);

        shell("$HS exec container/app -- true").exits(1).says("being paused");

        guest.fake().faults().clear();
        eventually().until(() -> guest.agent().isPaused(id()));
        shell("$HS exec container/app -- true").exits(1).says("is frozen");
        assertEquals(0, guest.fake().calls().count("ExecProcess"));
    }

    @Tag("nightly")
    @Test
    void aProbeThatBeginsTooLateIsForgottenByTheAgentAllTheSame() {
        Agent _ = running(idle().with("probe.exec.command", new String[] {"/bin/true"})
                .with("health.interval", "1s")
                .with("health.timeout", "300ms")
                .with("health.failureThreshold", 1000));
        guest.fake().faults().hang("ExecProcess");
        long before = guest.fake().calls().count("ExecProcess");
        eventually().until(() -> guest.fake().calls().count("ExecProcess") >= before + 3);

        guest.fake().faults().clear();

        eventually()
                .until(() -> guest.fake().calls().count("WaitProcess")
                        == guest.fake().calls().count("ExecProcess"));
    }

    @Test
    void whatIsNotDeclaredIsNotAllowed() {
        homeostat.applied(guest.sandbox(), idle().with("capabilities", List.of("NET_ADMIN")));

        CreateContainerRequest asked = guest.agent().containersAskedFor().getFirst();
        assertEquals(
                List.of("CAP_NET_ADMIN"),
                asked.getOCI().getProcess().getCapabilities().getAmbientList());
        assertTrue(asked.getOCI().getProcess().getNoNewPrivileges());
        assertEquals(65_534, asked.getOCI().getProcess().getUser().getUID());
        assertEquals("/rootfs", asked.getOCI().getRoot().getPath());
        assertTrue(asked.getOCI().getLinux().getMaskedPathsList().contains("/proc/kcore"));
    }
}
