package io.homeostat.reconcile.runtime.kata;

import static io.homeostat.reconcile.runtime.kata.KataScene.GUEST;
import static io.homeostat.reconcile.runtime.kata.KataScene.SANDBOX_LAUNCH;
import static io.homeostat.reconcile.runtime.kata.KataScene.eventually;
import static io.homeostat.reconcile.runtime.kata.KataScene.sandboxIdentity;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.guest.GuestEndpoint;
import io.homeostat.desired.state.Identity;
import io.homeostat.desired.state.Instance;
import io.homeostat.observe.guest.UnreachableGuest;
import io.homeostat.observe.guest.UnreachableGuest.Reason;
import io.homeostat.reconcile.runtime.kata.GuestChanges.Refused;
import io.homeostat.reconcile.runtime.kata.Guests.Guest;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The guests that this process is connected to, how it waits for them, and what their agents log. */
@Timeout(120)
class GuestsTest extends KataTestBed {
    private static final GuestEndpoint AT = GuestEndpoint.parse(KataScene.ENDPOINT);
    private static final GuestEndpoint MACHINE = GuestEndpoint.parse("vsock://3:1024");

    private MemoryGuest memory;
    private Guests guests;
    private Guest guest;

    @BeforeEach
    void setUp() throws Exception {
        memory = scene.guest();
        guests = scene.guests(scene.machine(), Kind.SANDBOX);
        guest = guests.at(AT);
    }

    @Test
    void aGuestHasOneSetOfConnections() throws Exception {
        assertSame(guest, guests.at(AT));
        assertSame(guest, guests.of(sandboxIdentity(0)));
        assertEquals(AT, guest.endpoint());
        assertNotSame(guest.looks().channel(), guest.streams().channel());
    }

    @Test
    void whatIsLeftIsConnectedToAnew() throws Exception {
        var _ = guest.looks().channel();

        guests.leave(AT);
        guests.leave(MACHINE);

        assertEquals(
                Reason.NOT_TRIED,
                assertThrows(UnreachableGuest.class, () -> guest.looks().channel())
                        .reason());
        assertNotSame(guest, guests.at(AT));
        assertTrue(guests.at(AT).looks().channel().isOpen());
    }

    @Test
    void allConnectionsEndTogether() throws Exception {
        var looks = guest.looks().channel();
        var streams = guest.streams().channel();

        guests.close();

        assertFalse(looks.isOpen());
        assertFalse(streams.isOpen());
        assertThrows(
                UnreachableGuest.class,
                () -> guest.changes(Duration.ofSeconds(1)).destroySandbox());
    }

    @Test
    void anAgentThatIsThereIsNotWaitedFor() throws Exception {
        scene.timing().pass();

        assertTrue(guest.awaitAgent(Duration.ofSeconds(1), () -> true));

        assertEquals(0, scene.timing().read());
    }

    @Test
    void anAgentThatIsAwayIsWaitedForUntilTheTimeIsOver() throws Exception {
        memory.vanish(Reason.NOT_UP);
        scene.timing().pass();

        assertFalse(guest.awaitAgent(Duration.ofSeconds(1), () -> true));

        assertEquals(Duration.ofSeconds(1).toNanos(), scene.timing().read());
    }

    @Test
    void anAgentIsWaitedForOnlyWhileItIsWorthIt() throws Exception {
        memory.vanish(Reason.NOT_UP);
        scene.timing().pass();

        assertFalse(guest.awaitAgent(
                Duration.ofSeconds(1),
                () -> scene.timing().read() < Duration.ofMillis(300).toNanos()));

        assertEquals(Duration.ofMillis(300).toNanos(), scene.timing().read());
    }

    @ParameterizedTest
    @EnumSource(
            value = Reason.class,
            names = {"NO_ANSWER", "WRONG_PROTOCOL", "NO_VSOCK", "NOT_ALLOWED", "NOT_TRIED"})
    void anAgentThatCannotBeAskedIsNotWaitedFor(Reason reason) {
        memory.vanish(reason);

        assertEquals(
                reason,
                assertThrows(UnreachableGuest.class, () -> guest.awaitAgent(Duration.ofSeconds(1), () -> true))
                        .reason());
    }

    @Test
    void contactsAreThoseOfLaunchesThatAreNotForgotten() throws Exception {
        Instance instance = scene.runningSandbox();
        Contact contact = guests.contact(SANDBOX_LAUNCH);
        assertSame(contact, guests.contact(SANDBOX_LAUNCH));
        assertEquals(1, guests.contacts().size());

        guests.forget(instance);

        assertEquals(0, guests.contacts().size());
    }

    @Test
    void aCallThatIsNotAnsweredIsNotedUntilThisProcessEnds() throws Exception {
        Instance instance = scene.runningSandbox();
        guest.unanswered().isOf(instance);
        memory.silence("DestroySandbox");
        assertThrows(Refused.class, () -> guest.changes(Duration.ofSeconds(9)).destroySandbox());
        scene.setNow(KataScene.START.plusSeconds(1));

        guests.writeUnanswered();
        assertEquals(1, scene.sandboxNotes().unanswered(instance).size());

        guests.close();
        assertEquals(0, scene.sandboxNotes().unanswered(instance).size());
    }

    @Test
    void whatCannotBeNotedIsNoReasonToFail() throws Exception {
        Instance instance = scene.runningSandbox();
        guest.unanswered().isOf(instance);
        scene.block(instance, "unanswered-sandbox");

        guests.writeUnanswered();
        guests.close();

        assertThrows(UnreachableGuest.class, () -> guest.looks().channel());
    }

    private Instance followed() throws Exception {
        Instance instance = scene.launched(
                KataScene.sandbox(), SANDBOX_LAUNCH, new Identity.Sandbox("vsock://3:1024", 0, true, KataScene.BOOT));
        guests.logs().follow(instance, guests.at(MACHINE));
        eventually().until(() -> memory.logs().size() == 1);
        return instance;
    }

    @Test
    void whatAnAgentLogsIsTheLogOfItsSandbox() throws Exception {
        Instance instance = followed();
        memory.printLog("one\n");
        eventually().until(() -> scene.log(GUEST).equals("one\n"));

        guests.logs().follow(instance, guests.at(MACHINE));
        memory.printLog("two\n");

        eventually().until(() -> scene.log(GUEST).equals("one\ntwo\n"));
        assertEquals(1, memory.logs().size(), "it is read once");
    }

    @Test
    void whatAnAgentLogsHasAPace() throws Exception {
        followed();
        while (guests.at(MACHINE).outputPause(64 << 20).isZero()) {}
        memory.printLog("one\n");
        eventually().until(() -> scene.log(GUEST).equals("one\n"));

        memory.printLog("two\n");
        assertFalse(scene.log(GUEST).contains("two"));
        scene.timing().advance(Duration.ofMinutes(1));

        eventually().until(() -> scene.log(GUEST).equals("one\ntwo\n"));
    }

    @Test
    void aLogThatBreaksOffIsReadOn() throws Exception {
        followed();

        memory.logs().getFirst().close();

        eventually().until(() -> memory.logs().size() == 2);
        memory.printLog("again\n");
        eventually().until(() -> scene.log(GUEST).equals("again\n"));
    }

    @Test
    void aLogThatCannotBeReachedIsTriedAgain() throws Exception {
        memory.vanish(Reason.REFUSED);
        Instance instance = scene.launched(
                KataScene.sandbox(), SANDBOX_LAUNCH, new Identity.Sandbox("vsock://3:1024", 0, true, KataScene.BOOT));
        guests.logs().follow(instance, guests.at(MACHINE));

        memory.listen();

        eventually().until(() -> memory.logs().size() == 1);
    }

    private static boolean isClosed(MemoryWire wire) {
        try {
            int _ = wire.write(ByteBuffer.allocate(1));
            return false;
        } catch (IOException e) {
            return true;
        }
    }

    @Test
    void theLogOfALaunchThatIsOverIsReadNoMore() throws Exception {
        Instance instance = followed();

        guests.forget(instance);

        eventually().until(() -> isClosed(memory.logs().getFirst()));
        assertEquals(1, memory.logs().size());
    }

    @Test
    void noLogIsReadAfterTheEnd() throws Exception {
        followed();

        guests.logs().close();

        eventually().until(() -> isClosed(memory.logs().getFirst()));
        assertEquals(1, memory.logs().size());
    }

    @Test
    void anAgentOfThisMachineHasNoSuchLog() throws Exception {
        guests.logs().follow(scene.runningSandbox(), guest);

        assertEquals(0, memory.logs().size());
    }

    @Test
    void aLogThatCannotBeKeptIsReadAllTheSame() throws Exception {
        followed();
        Files.createDirectories(scene.layout().log(GUEST));
        memory.printLog("lost\n");
        eventually().until(() -> memory.logs().size() >= 2);
        Files.delete(scene.layout().log(GUEST));

        memory.printLog("kept\n");
        eventually().until(() -> scene.log(GUEST).endsWith("kept\n"));
    }

    @Test
    void onlyASandboxIsWhereSandboxesAre() throws Exception {
        Instance instance = scene.runningSandbox();

        assertEquals(Optional.of(sandboxIdentity(0)), Guests.identity(instance));
        assertEquals(Optional.empty(), Guests.identity(instance.withIdentity(KataScene.containerIdentity(true))));
    }
}
