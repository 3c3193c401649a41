package io.homeostat.reconcile.runtime.kata;

import static io.homeostat.reconcile.runtime.kata.KataScene.APP;
import static io.homeostat.reconcile.runtime.kata.KataScene.APP_LAUNCH;
import static io.homeostat.reconcile.runtime.kata.KataScene.START;
import static io.homeostat.reconcile.runtime.kata.KataScene.container;
import static io.homeostat.reconcile.runtime.kata.KataScene.containerIdentity;
import static io.homeostat.reconcile.runtime.kata.KataScene.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Status;
import io.homeostat.desired.model.guest.GuestEndpoint;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.desired.state.history.Exit.Reason;
import io.homeostat.observe.guest.UnreachableGuest;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What a container prints and how it ends: taken once, and kept. */
@Timeout(120)
class ContainerFollowerTest extends ContainerTestBed {
    private static final Duration LONG = Duration.ofSeconds(60);
    private static final long LIMIT = 64 << 20;
    private static final long PAGES = 64 << 10;

    private Instance instance;

    @BeforeEach
    void setUp() throws Exception {
        instance = scene.intended(container(), APP_LAUNCH);
    }

    private ContainerFollower follow(String... fields) throws Exception {
        instance = scene.runningContainer(container(fields));
        return follower();
    }

    private ContainerFollower follower() throws Exception {
        return containers.follow(instance, containerIdentity(true)).orElseThrow();
    }

    private MemoryProcess process() {
        return scene.app().first();
    }

    private Exit end(ContainerFollower follower) throws Exception {
        eventually().until(follower::isOver);
        assertFalse(follower.follows());
        return follower.exit().orElseThrow();
    }

    private Exit endAfter(int status, String... fields) throws Exception {
        ContainerFollower follower = follow(fields);
        process().exit(status);
        return end(follower);
    }

    @Test
    void bothStreamsAreItsLogAndItsEndIsNoted() throws Exception {
        ContainerFollower follower = follow();
        assertTrue(follower.follows());
        assertFalse(follower.isOver());
        assertEquals(Optional.empty(), follower.exit());
        process().printError("e");
        eventually().until(() -> scene.log(APP).equals("e"));
        process().print("out");
        process().exit(3);

        Exit expected = new Exit(3, null, Reason.EXITED, START);
        assertEquals(expected, end(follower));
        assertEquals("eout", scene.log(APP));
        assertEquals(expected, scene.containerNotes().exit(instance).orElseThrow());
    }

    @ParameterizedTest
    @CsvSource({
        "0, , EXITED",
        "1, , EXITED",
        "128, , EXITED",
        "129, 1, SIGNALED",
        "137, 9, SIGNALED",
        "192, 64, SIGNALED",
        "193, , EXITED"
    })
    void aStatusAboveThoseOfProgramsIsASignal(int status, Integer signal, Reason reason) throws Exception {
        assertEquals(new Exit(status, signal, reason, START), endAfter(status));
    }

    @Test
    void anEventTellsThatMemoryHasRunOut() throws Exception {
        ContainerFollower follower = follow();
        scene.agent().tellOutOfMemory(APP_LAUNCH);
        eventually().until(() -> scene.isMarked(instance, "out-of-memory"));
        process().exit(1);

        assertEquals(Reason.OOM_KILLED, end(follower).reason());
    }

    @Test
    void anEventThatAnAgentOfOursHasTakenBeforeIsNotForgotten() throws Exception {
        instance = scene.runningContainer(container());
        scene.mark(instance, "out-of-memory");
        process().exit(137);

        assertEquals(new Exit(137, 9, Reason.OOM_KILLED, START), end(follower()));
    }

    @Test
    void whatEndsWellHasNotEndedForWantOfMemory() throws Exception {
        instance = scene.runningContainer(container());
        scene.mark(instance, "out-of-memory");
        process().exit(0);

        assertEquals(Reason.EXITED, end(follower()).reason());
    }

    @Test
    void anEventMayComeAfterTheEnd() throws Exception {
        ContainerFollower follower = follow("limits: {memory: 64Mi}");
        process().exit(137);
        eventually().until(() -> guest.count("WaitProcess") == 1);
        scene.agent().tellOutOfMemory(APP_LAUNCH);

        assertEquals(Reason.OOM_KILLED, end(follower).reason());
        // It may be noted after the end is known.
        eventually().until(() -> scene.isMarked(instance, "out-of-memory"));
    }

    private Reason inferred(long maxUsage, long failures) throws Exception {
        instance = scene.runningContainer(container("limits: {memory: 64Mi}"));
        scene.app()
                .count(stats -> stats.getMemoryStatsBuilder()
                        .getUsageBuilder()
                        .setMaxUsage(maxUsage)
                        .setFailcnt(failures));
        scene.timing().pass();
        process().exit(137);
        return end(follower()).reason();
    }

    @Test
    void whatHasUsedAllOfItsMemoryAndWasKilledHasRunOutOfIt() throws Exception {
        assertEquals(Reason.OOM_INFERRED, inferred(LIMIT - PAGES, 0));
    }

    @Test
    void whatWasRefusedMemoryAndWasKilledHasRunOutOfIt() throws Exception {
        assertEquals(Reason.OOM_INFERRED, inferred(0, 1));
    }

    @Test
    void whatHasNotUsedAllOfItsMemoryWasKilledBySomebody() throws Exception {
        assertEquals(Reason.SIGNALED, inferred(LIMIT - PAGES - 1, 0));
    }

    @Test
    void whatIsNotCountedIsNoEvidence() throws Exception {
        guest.refuse("StatsContainer", Status.INTERNAL);
        assertEquals(Reason.SIGNALED, inferred(LIMIT, 1));

        guest.refuse("StatsContainer", Status.INTERNAL, "Invalid container id");
        containers.forget(instance);
        assertEquals(Reason.SIGNALED, inferred(LIMIT, 1));
    }

    private Reason endAfterSignal(Instant signalled) throws Exception {
        instance = scene.runningContainer(container("limits: {memory: 64Mi}"));
        scene.containerNotes().writeSignalled(instance);
        Files.setLastModifiedTime(scene.file(instance, "signalled"), FileTime.from(signalled));
        scene.app()
                .count(stats -> stats.getMemoryStatsBuilder().getUsageBuilder().setMaxUsage(LIMIT));
        scene.timing().pass();
        process().exit(137);
        return end(follower()).reason();
    }

    @Test
    void whatWasToldToEndIsNotShortOfMemory() throws Exception {
        assertEquals(Reason.SIGNALED, endAfterSignal(START.minusSeconds(10)));
        assertEquals(0, guest.count("StatsContainer"));
    }

    @Test
    void whatWasToldToEndLongAgoMayBeShortOfMemory() throws Exception {
        assertEquals(Reason.OOM_INFERRED, endAfterSignal(START.minusMillis(10_001)));
    }

    @Test
    void anotherSignalThanThatOfTheKernelIsNotAskedAbout() throws Exception {
        scene.timing().pass();
        assertEquals(Reason.SIGNALED, endAfter(143, "limits: {memory: 64Mi}").reason());
        assertEquals(0, guest.count("StatsContainer"));
    }

    @Test
    void whatWasGivenCannotBeReadIsNoEvidence() throws Exception {
        instance = scene.runningContainer(container("limits: {memory: 64Mi}"));
        scene.block(instance, "given.json");
        scene.block(instance, "signalled");
        scene.timing().pass();
        process().exit(137);

        assertEquals(Reason.SIGNALED, end(follower()).reason());
    }

    @Test
    void ofAContainerThatItsGuestDoesNotKnowNobodyKnowsTheEnd() throws Exception {
        instance = scene.runningContainer(container());
        scene.agent().containers().clear();
        ContainerFollower follower = follower();

        assertTrue(follower.awaitEnd(LONG));
        assertTrue(follower.isOver());
        assertEquals(Optional.empty(), follower.exit());
        assertEquals(Optional.empty(), scene.containerNotes().exit(instance));
    }

    @Test
    void anEndThatWasToldToSomebodyElseIsNotKnown() throws Exception {
        instance = scene.runningContainer(container());
        guest.refuse("WaitProcess", Status.NOT_FOUND, "InitProcessNotFound");
        process().exit(0);

        assertEquals(new Exit(null, null, Reason.UNKNOWN, START), end(follower()));
        assertEquals(
                Reason.UNKNOWN,
                scene.containerNotes().exit(instance).orElseThrow().reason());
    }

    @ParameterizedTest
    @ValueSource(strings = {"PERMISSION_DENIED", "UNIMPLEMENTED", "INTERNAL"})
    void outputThatMayNotBeReadIsNoReasonNotToWaitForTheEnd(String code) throws Exception {
        guest.refuse("ReadStdout", Status.Code.valueOf(code).toStatus());

        assertEquals(new Exit(4, null, Reason.EXITED, START), endAfter(4));
    }

    @ParameterizedTest
    @ValueSource(strings = {"DEADLINE_EXCEEDED", "CANCELLED"})
    void aReadThatIsNotAnsweredIsTriedAgain(String code) throws Exception {
        guest.refuse("ReadStdout", Status.Code.valueOf(code).toStatus());
        ContainerFollower follower = follow();
        eventually().until(() -> guest.count("ReadStdout") >= 2);
        guest.heal("ReadStdout");
        process().print("late");
        process().exit(0);

        assertEquals(Reason.EXITED, end(follower).reason());
        assertEquals("late", scene.log(APP));
    }

    @Test
    void aWaitThatIsNotAnsweredIsTriedAgain() throws Exception {
        guest.silence("WaitProcess");
        ContainerFollower follower = follow();
        process().exit(5);
        eventually().until(() -> guest.count("WaitProcess") >= 2);
        guest.heal("WaitProcess");

        assertEquals(new Exit(5, null, Reason.EXITED, START), end(follower));
    }

    @Test
    void aConnectionThatBreaksIsMadeAgain() throws Exception {
        ContainerFollower follower = follow();
        eventually().until(() -> guest.count("ReadStdout") == 1);

        guest.breakConnections();
        process().print("after");
        eventually().until(() -> scene.log(APP).equals("after"));
        process().exit(6);

        assertEquals(new Exit(6, null, Reason.EXITED, START), end(follower));
    }

    @Test
    void aGuestThatIsAwayForAWhileIsWaitedFor() throws Exception {
        guest.vanish(UnreachableGuest.Reason.NO_ANSWER);
        ContainerFollower follower = follow();
        process().exit(7);
        assertTrue(follower.follows());

        guest.listen();
        eventually().until(() -> {
            scene.timing().advance(Duration.ofSeconds(10));
            return follower.isOver();
        });

        assertEquals(new Exit(7, null, Reason.EXITED, START), end(follower));
    }

    @Test
    void theOutputOfATerminalIsOneStreamThatEndsWithAnError() throws Exception {
        ContainerFollower follower = follow("terminal: true");
        process().print("$ ");
        process().exit(0);

        assertEquals(Reason.EXITED, end(follower).reason());
        assertEquals("$ ", scene.log(APP));
        assertEquals(0, guest.count("ReadStderr"));
    }

    @Test
    void whatCannotBeKeptIsCountedAndSaidOnceItCanBe() throws Exception {
        ContainerFollower follower = follow();
        Path log = scene.layout().log(APP);
        Files.createDirectories(log);
        process().print("lost");
        eventually().until(() -> guest.count("ReadStdout") == 2);
        process().print(" and lost");
        eventually().until(() -> guest.count("ReadStdout") == 3);
        Files.delete(log);
        process().print("kept");
        eventually().until(() -> guest.count("ReadStdout") == 4);

        String kept = scene.log(APP);
        assertTrue(kept.contains(" 13 bytes "), kept);
        assertTrue(kept.endsWith("\nkept"), kept);
        process().exit(0);
        end(follower);
        assertEquals(kept, scene.log(APP), "it is said once");
    }

    @Test
    void whatWasLostLastIsSaidAtTheEnd() throws Exception {
        ContainerFollower follower = follow();
        Path log = scene.layout().log(APP);
        Files.createDirectories(log);
        process().print("lost");
        eventually().until(() -> guest.count("ReadStdout") == 2);
        Files.delete(log);
        process().exit(0);

        end(follower);

        assertTrue(scene.log(APP).contains(" 4 bytes "), scene.log(APP));
    }

    @Test
    void anEndThatCannotBeNotedIsNotKnownToAnybody() throws Exception {
        instance = scene.runningContainer(container());
        scene.block(instance, "exit.json");
        process().exit(0);

        assertEquals(new Exit(null, null, Reason.UNKNOWN, START), end(follower()));
    }

    @Test
    void thatMemoryHasRunOutIsKnownAlsoWhereItCannotBeNoted() throws Exception {
        ContainerFollower follower = follow();
        follower.outOfMemory();
        process().exit(137);

        assertEquals(Reason.OOM_KILLED, end(follower).reason());
    }

    @Test
    void whoeverIsClosedKnowsOfNoEnd() throws Exception {
        ContainerFollower follower = follow();
        eventually().until(() -> guest.count("ReadStdout") == 1);

        follower.close();

        eventually().until(() -> !follower.follows());
        assertFalse(follower.isOver());
        assertEquals(Optional.empty(), follower.exit());
        assertThrows(CancellationException.class, () -> follower.awaitEnd(LONG));
        assertEquals(Optional.empty(), scene.containerNotes().exit(instance));
    }

    @Test
    void theEndOfWhatRunsOnIsNotInSight() throws Exception {
        ContainerFollower follower = follow();
        scene.timing().pass();

        assertFalse(follower.awaitEnd(Duration.ofSeconds(3)));

        assertEquals(Duration.ofSeconds(3).toNanos(), scene.timing().read());
    }

    @Test
    void whatAllContainersOfAGuestPrintHasOnePace() throws Exception {
        Guests.Guest guest = containers.guests().at(GuestEndpoint.parse(KataScene.ENDPOINT));

        assertEquals(Duration.ZERO, guest.outputPause((64 << 20) - (9 << 10)));
        assertEquals(Duration.ZERO, guest.outputPause(1));
        // What is short takes as long as 8 KiB.
        assertFalse(guest.outputPause(1).isZero());
        assertEquals(
                Duration.ofSeconds(1),
                Duration.ofSeconds(guest.outputPause(8 << 20).toSeconds()));
        scene.timing().advance(Duration.ofSeconds(20));
        assertEquals(Duration.ZERO, guest.outputPause(1));
    }
}
