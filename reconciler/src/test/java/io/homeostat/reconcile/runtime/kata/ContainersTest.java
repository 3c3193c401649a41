package io.homeostat.reconcile.runtime.kata;

import static io.homeostat.reconcile.runtime.kata.KataScene.APP_LAUNCH;
import static io.homeostat.reconcile.runtime.kata.KataScene.container;
import static io.homeostat.reconcile.runtime.kata.KataScene.containerIdentity;
import static io.homeostat.reconcile.runtime.kata.KataScene.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Status;
import io.homeostat.desired.model.guest.GuestEndpoint;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.observe.guest.UnreachableGuest.Reason;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Who follows the containers of a machine, and who hears of their ends and of their memory. */
@Timeout(120)
class ContainersTest extends ContainerTestBed {
    private static final Duration LONG = Duration.ofSeconds(60);

    private Instance instance;
    private final AtomicInteger told = new AtomicInteger();

    @BeforeEach
    void setUp() throws Exception {
        instance = scene.runningContainer(container());
    }

    private ContainerFollower follow() throws Exception {
        return containers.follow(instance, containerIdentity(true)).orElseThrow();
    }

    @Test
    void aLaunchHasOneFollower() throws Exception {
        assertEquals(Optional.empty(), containers.follower(instance));

        ContainerFollower follower = follow();

        assertSame(follower, follow());
        assertSame(follower, containers.follower(instance).orElseThrow());
        assertEquals(GuestEndpoint.parse(KataScene.ENDPOINT), follower.endpoint());
        eventually().until(() -> guest.count("GetOOMEvent") == 1);
    }

    @Test
    void whoeverOnlyLooksFollowsNothing() throws Exception {
        Containers looking = scene.containers(scene.machineToLookAt());

        assertEquals(Optional.empty(), looking.follow(instance, containerIdentity(true)));
        assertEquals(0, guest.methods().size());
    }

    @Test
    void afterTheEndNothingIsFollowed() throws Exception {
        ContainerFollower follower = follow();

        containers.close();

        assertEquals(Optional.empty(), containers.follow(instance, containerIdentity(true)));
        eventually().until(() -> !follower.follows());
    }

    @Test
    void anEndIsToldOnceToWhoeverWaitsForIt() throws Exception {
        ContainerFollower follower = follow();
        containers.watch(instance, told::incrementAndGet);
        assertEquals(0, told.get());

        scene.app().first().exit(0);

        eventually().until(() -> told.get() == 1);
        assertTrue(follower.isOver());
        containers.watch(instance, told::incrementAndGet);
        assertEquals(2, told.get(), "of an end that is known at once");
    }

    @Test
    void nobodyIsToldAfterTheEndOfThis() throws Exception {
        ContainerFollower follower = follow();
        containers.watch(instance, told::incrementAndGet);
        scene.app().first().exit(0);
        assertTrue(follower.awaitEnd(LONG));
        eventually().until(() -> told.get() == 1);

        containers.close();
        containers.watch(instance, told::incrementAndGet);

        assertEquals(1, told.get());
    }

    @Test
    void whatIsForgottenIsNotFollowedAndNobodyHearsOfIt() throws Exception {
        ContainerFollower follower = follow();
        containers.watch(instance, told::incrementAndGet);

        containers.forget(instance);

        assertEquals(Optional.empty(), containers.follower(instance));
        eventually().until(() -> !follower.follows());
        assertFalse(follower.isOver());
        assertEquals(0, told.get());
    }

    @Test
    void theSandboxOfAContainerIsTheOneThatItWasLaunchedIn() throws Exception {
        assertEquals(Optional.of(sandbox), containers.sandbox(instance));

        scene.mark(sandbox, "ended");
        assertEquals(Optional.empty(), containers.sandbox(instance));

        scene.remember(sandbox.withPhase(Phase.ENDED, ""));
        assertEquals(Optional.empty(), containers.sandbox(instance));
    }

    @Test
    void whereAContainerIsSaysItsIdentity() {
        assertEquals(Optional.of(containerIdentity(true)), Containers.identity(instance));
        assertEquals(Optional.empty(), Containers.identity(sandbox));
        assertEquals(
                GuestEndpoint.parse(KataScene.ENDPOINT),
                containers.guest(containerIdentity(true)).endpoint());
    }

    @Test
    void anEventOfMemoryIsOnlyForTheContainerThatItNames() throws Exception {
        follow();
        scene.agent().tellOutOfMemory("somebody else");
        eventually().until(() -> guest.count("GetOOMEvent") == 2);
        assertFalse(scene.isMarked(instance, "out-of-memory"));

        scene.agent().tellOutOfMemory(APP_LAUNCH);

        eventually().until(() -> scene.isMarked(instance, "out-of-memory"));
    }

    private OutOfMemoryEvents events(List<String> heard, AtomicBoolean wanted) {
        return scene.closed(OutOfMemoryEvents.start(
                containers.guests().at(GuestEndpoint.parse(KataScene.ENDPOINT)), heard::add, wanted::get));
    }

    @Test
    void eventsAreAwaitedForAsLongAsSomebodyWantsThem() {
        List<String> heard = new CopyOnWriteArrayList<>();
        AtomicBoolean wanted = new AtomicBoolean(true);
        OutOfMemoryEvents events = events(heard, wanted);
        assertTrue(events.areAwaited());
        scene.agent().tellOutOfMemory("one");
        eventually().until(() -> guest.count("GetOOMEvent") == 2);

        wanted.set(false);
        scene.agent().tellOutOfMemory("two");

        eventually().until(() -> !events.areAwaited());
        assertEquals(List.of("one", "two"), heard);
    }

    @ParameterizedTest
    @EnumSource(
            value = Status.Code.class,
            names = {"PERMISSION_DENIED", "UNIMPLEMENTED"})
    void eventsThatAnAgentDoesNotTellAreNotAwaited(Status.Code code) {
        guest.refuse("GetOOMEvent", code.toStatus());
        OutOfMemoryEvents events = events(new CopyOnWriteArrayList<>(), new AtomicBoolean(true));

        eventually().until(() -> !events.areAwaited());

        assertEquals(1, guest.count("GetOOMEvent"));
    }

    @Test
    void aQuestionForEventsThatFailsIsAskedAgain() {
        List<String> heard = new CopyOnWriteArrayList<>();
        guest.refuse("GetOOMEvent", Status.INTERNAL);
        OutOfMemoryEvents events = events(heard, new AtomicBoolean(true));
        eventually().until(() -> guest.count("GetOOMEvent") > 1);
        guest.heal("GetOOMEvent");
        scene.agent().tellOutOfMemory("one");
        eventually().until(() -> heard.equals(List.of("one")));

        events.close();

        eventually().until(() -> !events.areAwaited());
    }

    @Test
    void aGuestThatTellsOfEventsWithoutEndIsAskedSlowly() {
        int more = 5;
        for (int i = 0; i < OutOfMemoryEvents.BURST + more; i++) {
            scene.agent().tellOutOfMemory("one");
        }
        List<String> heard = new CopyOnWriteArrayList<>();
        OutOfMemoryEvents _ = events(heard, new AtomicBoolean(true));

        for (int i = 0; i <= more; i++) {
            int expected = OutOfMemoryEvents.BURST + i;
            eventually().until(() -> heard.size() >= expected);
            assertEquals(expected, heard.size());
            scene.timing().advance(Duration.ofSeconds(1));
        }
    }

    @Test
    void aGuestThatIsAwayIsAskedForEventsOnceItIsBack() {
        List<String> heard = new CopyOnWriteArrayList<>();
        guest.vanish(Reason.REFUSED);
        OutOfMemoryEvents _ = events(heard, new AtomicBoolean(true));
        scene.agent().tellOutOfMemory("one");
        guest.listen();

        eventually().until(() -> {
            scene.timing().advance(Duration.ofSeconds(10));
            return heard.equals(List.of("one"));
        });
    }

    @Test
    void eventsAreAwaitedAgainForTheNextContainerOfAGuest() throws Exception {
        guest.refuse("GetOOMEvent", Status.PERMISSION_DENIED);
        follow();
        eventually().until(() -> guest.count("GetOOMEvent") == 1);
        containers.forget(instance);
        guest.heal("GetOOMEvent");

        eventually().until(() -> {
            follow();
            containers.forget(instance);
            return guest.count("GetOOMEvent") > 1;
        });
    }
}
