package io.homeostat.reconcile.runtime.kata;

import static io.homeostat.reconcile.runtime.kata.KataScene.APP;
import static io.homeostat.reconcile.runtime.kata.KataScene.APP_LAUNCH;
import static io.homeostat.reconcile.runtime.kata.KataScene.ENDPOINT;
import static io.homeostat.reconcile.runtime.kata.KataScene.GUEST;
import static io.homeostat.reconcile.runtime.kata.KataScene.SANDBOX_LAUNCH;
import static io.homeostat.reconcile.runtime.kata.KataScene.START;
import static io.homeostat.reconcile.runtime.kata.KataScene.container;
import static io.homeostat.reconcile.runtime.kata.KataScene.sandbox;
import static io.homeostat.reconcile.runtime.kata.KataScene.sandboxIdentity;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Status;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.desired.model.ContainerSpec;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.SandboxSpec;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.model.guest.ContainerSettings.InPlace;
import io.homeostat.desired.model.guest.GuestEndpoint;
import io.homeostat.desired.model.guest.SandboxSettings.Network;
import io.homeostat.desired.state.Identity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.observe.guest.UnreachableGuest;
import io.homeostat.observe.guest.UnreachableGuest.Reason;
import io.homeostat.proto.kata.Process;
import io.homeostat.reconcile.runtime.kata.GuestChanges.Refused;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What is written down of sandboxes and containers beside their launches, and what is made of notes that cannot be read. */
@Timeout(120)
class KataNotesTest extends KataTestBed {
    private static final GuestEndpoint AT = GuestEndpoint.parse(ENDPOINT);
    private static final Duration TIMEOUT = Duration.ofSeconds(30);

    private SandboxNotes sandboxes;
    private ContainerNotes containers;
    private Instance guest;
    private Instance app;

    @BeforeEach
    void setUp() throws Exception {
        sandboxes = scene.sandboxNotes();
        containers = scene.containerNotes();
        guest = scene.launched(sandbox(), SANDBOX_LAUNCH, sandboxIdentity(3));
        app = scene.launched(container(), APP_LAUNCH, KataScene.containerIdentity(true));
    }

    private List<String> at(GuestEndpoint endpoint) throws Exception {
        return sandboxes.at(endpoint).stream().map(Instance::launchId).toList();
    }

    @Test
    void aCountIsThatOfTheLaunchUntilAnotherIsNoted() throws Exception {
        assertEquals(3, sandboxes.scrapes(guest, sandboxIdentity(3)));

        sandboxes.writeScrapes(guest, 123_456_789_012_345_678L);

        assertEquals(123_456_789_012_345_678L, sandboxes.scrapes(guest, sandboxIdentity(3)));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "-1", "1234567890123456789", "12x"})
    void aCountThatIsNoneIsIgnored(String text) throws Exception {
        Files.writeString(scene.file(guest, "scrapes"), text);

        assertEquals(3, sandboxes.scrapes(guest, sandboxIdentity(3)));
    }

    @Test
    void aCountMayHaveBlanksAroundIt() throws Exception {
        Files.writeString(scene.file(guest, "scrapes"), " 12\n");

        assertEquals(12, sandboxes.scrapes(guest, sandboxIdentity(3)));
    }

    @Test
    void theLaunchesInAGuestAreThoseThatAreNotedThereAndNotOver() throws Exception {
        assertEquals(List.of(SANDBOX_LAUNCH), at(AT));
        assertEquals(List.of(), at(GuestEndpoint.parse("unix:///run/other.sock")));

        Instance ended = scene.launched(sandbox(), "ended", sandboxIdentity(0));
        scene.mark(ended, "ended");
        Instance booted = scene.launched(sandbox(), "booted", sandboxIdentity(0));
        scene.mark(booted, "guest-booted");
        scene.launches().write(scene.intended(sandbox(), "not asked for"));
        Files.createDirectories(scene.layout().launch(GUEST, "without a note"));

        assertEquals(List.of(SANDBOX_LAUNCH), at(AT));
    }

    @Test
    void whereThereWasNoSandboxNoneIsInAGuest() throws Exception {
        scene.launches().forget(GUEST, SANDBOX_LAUNCH);
        Files.delete(scene.layout().launches(GUEST));
        Files.delete(scene.layout().launches(Kind.SANDBOX));

        assertEquals(List.of(), at(AT));
    }

    @Test
    void theNetworkThatWasGivenIsKnownAsLongAsItCanBeRead() throws Exception {
        assertEquals(Optional.empty(), sandboxes.given(guest));
        Network network = ((SandboxSpec)
                        sandbox("routes: [{dest: 10.1.0.0/16, device: eth0}]").spec())
                .guest()
                .network();
        sandboxes.writeGiven(guest, network);
        assertEquals(Optional.of(network), sandboxes.given(guest));

        Files.writeString(scene.file(guest, "network.json"), "{");
        assertEquals(Optional.empty(), sandboxes.given(guest));
    }

    @Test
    void theCallsThatAreNotAnsweredAreNotedByKind() throws Exception {
        assertEquals(List.of(), sandboxes.unanswered(guest));
        sandboxes.writeUnanswered(guest, Kind.CONTAINER, Optional.of("two"));
        sandboxes.writeUnanswered(guest, Kind.SANDBOX, Optional.of("one"));
        assertEquals(List.of("one", "two"), sandboxes.unanswered(guest));

        sandboxes.writeUnanswered(guest, Kind.SANDBOX, Optional.empty());
        sandboxes.writeUnanswered(guest, Kind.SANDBOX, Optional.empty());
        assertEquals(List.of("two"), sandboxes.unanswered(guest));

        scene.block(guest, "unanswered-container");
        assertThrows(ActuationFailure.class, () -> sandboxes.writeUnanswered(guest, Kind.CONTAINER, Optional.empty()));
        assertThrows(
                ActuationFailure.class, () -> sandboxes.writeUnanswered(guest, Kind.CONTAINER, Optional.of("two")));
    }

    @Test
    void theFirstContainerOfANamespaceIsNotedUntilItIsRefused() throws Exception {
        assertEquals(Optional.empty(), sandboxes.firstContainer(guest));
        sandboxes.writeFirstContainer(guest, app);
        assertEquals(Optional.of(scene.layout().launch(APP, APP_LAUNCH)), sandboxes.firstContainer(guest));

        sandboxes.forgetFirstContainer(guest);
        assertEquals(Optional.empty(), sandboxes.firstContainer(guest));
    }

    @Test
    void whatIsCopiedForOneContainerIsNotForAnother() {
        WorkloadId other = new WorkloadId(Kind.CONTAINER, "other");

        assertFalse(sandboxes.copiedFile(guest, APP, "1").equals(sandboxes.copiedFile(guest, other, "1")));
        assertFalse(sandboxes.copiedFile(guest, APP, "1").equals(sandboxes.copiedFile(guest, APP, "2")));
    }

    @Test
    void whatAContainerWasGivenIsKnownOrAnError() throws Exception {
        assertEquals(Optional.empty(), containers.given(app));
        InPlace given = ((ContainerSpec) container("limits: {memory: 64Mi}").spec()).inPlace();
        containers.writeGiven(app, given);
        assertEquals(Optional.of(given), containers.given(app));

        Files.writeString(scene.file(app, "given.json"), "{");
        assertThrows(IOException.class, () -> containers.given(app));
        scene.block(app, "given.json");
        assertThrows(ActuationFailure.class, () -> containers.writeGiven(app, given));
    }

    @Test
    void howAContainerWasLaunchedIsKnownOrAnError() throws Exception {
        assertEquals(Optional.empty(), containers.process(app));
        Process process = Process.newBuilder().addArgs("serve").build();
        containers.writeProcess(app, process);
        assertEquals(Optional.of(process), containers.process(app));

        Files.writeString(scene.file(app, "process"), "no message");
        assertThrows(IOException.class, () -> containers.process(app));
    }

    @Test
    void anEndIsKnownOnceItIsNoted() throws Exception {
        Path launch = scene.layout().launch(APP, APP_LAUNCH);
        assertEquals(Optional.empty(), containers.exit(app));
        assertFalse(ContainerNotes.hasExit(launch));
        Exit exit = new Exit(137, 9, Exit.Reason.OOM_INFERRED, START);

        containers.writeExit(app, exit);

        assertEquals(Optional.of(exit), containers.exit(app));
        assertTrue(ContainerNotes.hasExit(launch));
    }

    @Test
    void aSignalCountsFromItsTimeOn() throws Exception {
        assertFalse(containers.isSignalledSince(app, START));
        containers.writeSignalled(app);
        Files.setLastModifiedTime(scene.file(app, "signalled"), FileTime.from(START));

        assertTrue(containers.isSignalledSince(app, START));
        assertTrue(containers.isSignalledSince(app, START.minusMillis(1)));
        assertFalse(containers.isSignalledSince(app, START.plusMillis(1)));
    }

    private LostSandboxes lost() {
        return new LostSandboxes(scene.machine(), sandboxes);
    }

    private boolean isIn(Identity.Sandbox sandbox, int scrapes) {
        scene.agent().haveSandbox(true);
        scene.agent().setScrapes(scrapes);
        lost().note(guest, sandbox);
        return lost().isIn(scene.guests(scene.machine(), Kind.SANDBOX).at(AT), GUEST, TIMEOUT);
    }

    @Test
    void aSandboxThatWasGivenUpIsKnownByAnAgentThatHasGoneOnCounting() throws Exception {
        scene.mark(guest, "ended");

        assertTrue(isIn(sandboxIdentity(3), 3));
        assertFalse(isIn(sandboxIdentity(3), 2));
        assertFalse(isIn(new Identity.Sandbox("unix:///run/other.sock", 3, true, KataScene.BOOT), 9));
        assertFalse(isIn(new Identity.Sandbox(ENDPOINT, 3, true, "another boot"), 9));
        scene.agent().tellMetrics("");
        assertFalse(isIn(sandboxIdentity(3), 9));
    }

    @Test
    void aSandboxOfAnotherWorkloadIsNotTheOneThatWasGivenUp() {
        assertFalse(isIn(sandboxIdentity(3), 9), "it is noted as another launch");
    }

    @Test
    void aGuestWithoutASandboxHasNotTheOneThatWasGivenUp() throws Exception {
        scene.mark(guest, "ended");
        lost().note(guest, sandboxIdentity(3));
        scene.agent().setScrapes(9);
        Guests guests = scene.guests(scene.machine(), Kind.SANDBOX);

        assertFalse(lost().isIn(guests.at(AT), GUEST, TIMEOUT));
        scene.guest().refuse("GetVolumeStats", Status.INTERNAL);
        assertFalse(lost().isIn(guests.at(AT), GUEST, TIMEOUT));
        scene.guest().heal("GetVolumeStats");
        scene.agent().haveSandbox(true);
        scene.guest().refuse("GetMetrics", Status.INTERNAL);
        assertFalse(lost().isIn(guests.at(AT), GUEST, TIMEOUT));
    }

    @Test
    void theCountOfWhatIsGivenUpIsTheLatest() throws Exception {
        sandboxes.writeScrapes(guest, 42);

        lost().note(guest, sandboxIdentity(3));

        assertEquals(Optional.of(sandboxIdentity(42)), lost().of(GUEST));
        lost().forget(GUEST);
        lost().forget(GUEST);
        assertEquals(Optional.empty(), lost().of(GUEST));
    }

    @Test
    void aNoteOfWhatWasGivenUpThatCannotBeUsedIsNone() throws Exception {
        Path file = scene.layout().workloadState(GUEST).resolve("lost-sandbox.json");
        Files.createDirectories(file.getParent());
        Files.writeString(file, "{");
        assertEquals(Optional.empty(), lost().of(GUEST));

        Files.delete(file);
        Files.createDirectories(file.resolve("in the way"));
        assertEquals(Optional.empty(), lost().of(GUEST));
        lost().note(guest, sandboxIdentity(3));
        lost().forget(GUEST);
        assertTrue(Files.exists(file));
    }

    private GuestChanges changes() {
        return scene.guests(scene.machine(), Kind.CONTAINER).at(AT).changes(TIMEOUT);
    }

    @Test
    void whatWasGivenUpIsKilledAndRemoved() throws Exception {
        LeftOvers leftOvers = new LeftOvers(scene.layout());
        leftOvers.note(guest, APP, "old");
        leftOvers.note(guest, APP, "old");
        leftOvers.note(guest, new WorkloadId(Kind.CONTAINER, "other"), "theirs");

        leftOvers.removeOf(APP, guest, changes());

        assertEquals(List.of("SignalProcess", "RemoveContainer"), scene.guest().methods());
        assertEquals(List.of("theirs"), leftOvers.in(guest));
    }

    @Test
    void whatCannotBeRemovedStaysNotedAndKeepsNothingElse() throws Exception {
        LeftOvers leftOvers = new LeftOvers(scene.layout());
        leftOvers.note(guest, APP, "old");
        leftOvers.note(guest, APP, "older");
        scene.guest().refuse("RemoveContainer", Status.INTERNAL, "busy");

        assertThrows(Refused.class, () -> leftOvers.removeOf(APP, guest, changes()));
        assertEquals(1, scene.guest().count("RemoveContainer"));
        leftOvers.removeAll(guest, changes());

        assertEquals(3, scene.guest().count("RemoveContainer"));
        assertEquals(2, leftOvers.in(guest).size());
        scene.guest().vanish(Reason.REFUSED);
        assertThrows(UnreachableGuest.class, () -> leftOvers.removeAll(guest, changes()));
    }

    @Test
    void whatIsLeftInASandboxThatIsForgottenNeedNotBeNoted() throws Exception {
        LeftOvers leftOvers = new LeftOvers(scene.layout());
        scene.launches().forget(GUEST, SANDBOX_LAUNCH);

        leftOvers.note(guest, APP, "old");

        assertEquals(List.of(), leftOvers.in(guest));
    }

    @Test
    void whatIsLeftAndCannotBeNotedIsAFailure() throws Exception {
        LeftOvers leftOvers = new LeftOvers(scene.layout());
        Files.writeString(scene.file(guest, "left-over"), "in the way");

        assertThrows(ActuationFailure.class, () -> leftOvers.note(guest, APP, "old"));
    }
}
