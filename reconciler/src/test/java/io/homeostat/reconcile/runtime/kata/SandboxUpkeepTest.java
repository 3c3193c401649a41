package io.homeostat.reconcile.runtime.kata;

import static io.homeostat.reconcile.runtime.kata.KataScene.APP;
import static io.homeostat.reconcile.runtime.kata.KataScene.GUEST;
import static io.homeostat.reconcile.runtime.kata.KataScene.SANDBOX_LAUNCH;
import static io.homeostat.reconcile.runtime.kata.KataScene.START;
import static io.homeostat.reconcile.runtime.kata.KataScene.assertFails;
import static io.homeostat.reconcile.runtime.kata.KataScene.eventually;
import static io.homeostat.reconcile.runtime.kata.KataScene.sandbox;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.Iterables;
import io.grpc.Status;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.state.Identity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.observe.Observation;
import io.homeostat.observe.Observer.Checks;
import io.homeostat.proto.kata.AddARPNeighborsRequest;
import io.homeostat.proto.kata.SetGuestDateTimeRequest;
import io.homeostat.proto.kata.UpdateInterfaceRequest;
import io.homeostat.proto.kata.types.IPAddress;
import io.homeostat.proto.kata.types.Interface;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.record.Outcome;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What is done to a sandbox that runs: its network, its clock, its notes and the containers that were given up in it. */
@Timeout(120)
class SandboxUpkeepTest extends KataTestBed {
    private static final String MAC = "02:00:00:00:00:01";
    private static final String LINK = "interfaces: [{name: eth0, hwAddr: \"" + MAC + "\", addresses: [10.0.0.2/24]}]";
    private static final String ROUTE = "routes: [{dest: 10.1.0.0/16, gateway: 10.0.0.1, device: eth0}]";
    private static final String NEIGHBOR =
            "neighbors: [{address: 10.0.0.1, lladdr: \"02:00:00:00:00:09\", device: eth0}]";

    private MemoryGuest guest;
    private Guests guests;
    private SandboxRuntime runtime;
    private SandboxObserver observer;

    @BeforeEach
    void setUp() throws Exception {
        guest = scene.guest();
        guests = scene.guests(scene.machine(), Kind.SANDBOX);
        runtime = new SandboxRuntime(scene.machine(), guests);
        observer = new SandboxObserver(scene.machine(), guests);
    }

    private void plugIn() {
        scene.agent()
                .links()
                .add(Interface.newBuilder().setName("eth0").setHwAddr(MAC).build());
    }

    private Instance configured(Workload declared) throws Exception {
        Instance instance = scene.runningSandbox();
        assertEquals(Outcome.done(), runtime.configure(new Step.ApplyConfig(declared), instance));
        return instance;
    }

    private List<String> sent() {
        return guest.methods("UpdateInterface", "UpdateRoutes", "AddARPNeighbors");
    }

    @Test
    void whatTheGuestLacksOfItsNetworkIsSentAndNoted() throws Exception {
        plugIn();

        Instance instance = configured(sandbox(LINK, ROUTE, NEIGHBOR));

        assertEquals(List.of("UpdateInterface", "UpdateRoutes", "AddARPNeighbors"), sent());
        Interface link = Iterables.getOnlyElement(guest.requests(UpdateInterfaceRequest.class))
                .getInterface();
        assertEquals("10.0.0.2", link.getIPAddresses(0).getAddress());
        assertEquals("24", link.getIPAddresses(0).getMask());
        assertEquals(
                "02:00:00:00:00:09",
                guest.requests(AddARPNeighborsRequest.class)
                        .getFirst()
                        .getNeighbors()
                        .getARPNeighbors(0)
                        .getLladdr());
        assertEquals(
                1,
                scene.sandboxNotes().given(instance).orElseThrow().interfaces().size());
    }

    @Test
    void whatTheGuestHasOfItsNetworkIsNotSentAgain() throws Exception {
        plugIn();
        configured(sandbox(LINK, ROUTE));

        configured(sandbox(LINK, ROUTE));

        assertEquals(List.of("UpdateInterface", "UpdateRoutes"), sent());
    }

    @Test
    void neighboursAndRoutesThatNobodyTellsOfAreSentEachTime() throws Exception {
        plugIn();
        String everywhere = "routes: [{dest: 0.0.0.0/0, device: eth0}]";
        configured(sandbox(LINK, everywhere, NEIGHBOR));

        configured(sandbox(LINK, everywhere, NEIGHBOR));

        assertEquals(
                List.of("UpdateInterface", "UpdateRoutes", "AddARPNeighbors", "UpdateRoutes", "AddARPNeighbors"),
                sent());
    }

    @Test
    void routesAloneAreComparedAsWell() throws Exception {
        configured(sandbox(ROUTE));

        assertEquals(List.of("UpdateRoutes"), sent());
    }

    @Test
    void whereNoNetworkIsDeclaredNoneIsAskedFor() throws Exception {
        configured(sandbox());

        assertEquals(List.of(), guest.methods("ListInterfaces", "ListRoutes", "UpdateInterface", "UpdateRoutes"));
    }

    private void assertNotConfigured() throws Exception {
        Instance instance = scene.runningSandbox();

        assertFails(
                FailureCause.Kind.REFUSED,
                () -> runtime.configure(new Step.ApplyConfig(sandbox(LINK, ROUTE)), instance));

        assertTrue(scene.sandboxNotes().given(instance).isEmpty());
    }

    @Test
    void aNetworkThatIsTakenAndNotMadeIsAFailure() throws Exception {
        plugIn();
        guest.ignore("UpdateInterface", Interface.getDefaultInstance());
        assertNotConfigured();
    }

    @Test
    void aNetworkThatIsRefusedIsAFailure() throws Exception {
        plugIn();
        guest.refuse("UpdateRoutes", Status.INTERNAL, "ENETUNREACH");
        assertNotConfigured();
    }

    @Test
    void aNetworkThatCannotBeReadIsAFailure() throws Exception {
        guest.refuse("ListInterfaces", Status.INTERNAL);
        assertNotConfigured();
        assertEquals(List.of(), sent());
    }

    @Test
    void theCallThatConfiguresASandboxIsBlamedWhileItIsNotAnswered() throws Exception {
        Instance instance = scene.runningSandbox();
        guest.silence("UpdateRoutes");
        assertFails(
                FailureCause.Kind.TIMED_OUT, () -> runtime.configure(new Step.ApplyConfig(sandbox(ROUTE)), instance));
        scene.setNow(START.plusSeconds(5));

        runtime.upkeep();

        assertEquals(1, scene.sandboxNotes().unanswered(instance).size());
    }

    private void look() {
        assertTrue(
                observer.look(GUEST, scene.machine().instances().apply(GUEST), Checks.NONE)
                        instanceof Observation.Seen<?>);
    }

    private int clocksSet() {
        return guest.count("SetGuestDateTime");
    }

    @Test
    void aGuestThatIsReachedForTheFirstTimeIsToldTheTimeOnce() throws Exception {
        scene.runningSandbox();
        look();

        runtime.upkeep();
        eventually().until(() -> clocksSet() == 1);

        SetGuestDateTimeRequest told =
                guest.requests(SetGuestDateTimeRequest.class).getFirst();
        assertEquals(START.getEpochSecond(), told.getSec());
        look();
        runtime.upkeep();
        assertTrue(guests.contact(SANDBOX_LAUNCH).clockToSet().isEmpty());
    }

    @Test
    void guestsAreToldTheTimeAgainOnceTheClockOfThisMachineWasSet() throws Exception {
        scene.runningSandbox();
        look();
        runtime.upkeep();
        eventually().until(() -> clocksSet() == 1);

        scene.setNow(START.plusSeconds(3600));
        runtime.upkeep();
        eventually().until(() -> clocksSet() == 2);

        scene.setNow(START.plusSeconds(3602));
        scene.timing().advance(Duration.ofSeconds(2));
        runtime.upkeep();
        assertTrue(guests.contact(SANDBOX_LAUNCH).clockToSet().isEmpty());
    }

    @Test
    void howOftenAnAgentWasAskedIsNoted() throws Exception {
        Instance instance = scene.runningSandbox();
        scene.agent().setScrapes(8);
        look();

        runtime.upkeep();

        assertEquals(9, scene.sandboxNotes().scrapes(instance, KataScene.sandboxIdentity(0)));
        assertFalse(scene.isMarked(instance, "agent-lost"));
    }

    @Test
    void thatAnotherAgentAnswersIsNoted() throws Exception {
        Instance instance = scene.launched(sandbox(), SANDBOX_LAUNCH, KataScene.sandboxIdentity(5));
        scene.agent().haveSandbox(true);
        look();

        runtime.upkeep();

        assertTrue(scene.isMarked(instance, "agent-lost"));
    }

    @Test
    void notesThatCannotBeWrittenKeepNothingElseFromBeingDone() throws Exception {
        scene.runningSandbox();
        scene.agent().setScrapes(8);
        look();
        scene.launches().forget(GUEST, SANDBOX_LAUNCH);

        runtime.upkeep();

        eventually().until(() -> clocksSet() == 1);
    }

    @Test
    void containersThatWereGivenUpAreRemovedOnlyByWhatGoesOn() throws Exception {
        Instance instance = scene.runningSandbox();
        LeftOvers leftOvers = new LeftOvers(scene.layout());
        leftOvers.note(instance, APP, "old");
        look();

        runtime.upkeep();
        assertEquals(0, guest.count("RemoveContainer"));

        runtime.upkeep();
        eventually().until(() -> guest.count("RemoveContainer") == 1);
        eventually().until(() -> leftOvers.in(instance).isEmpty());
    }

    @Test
    void containersThatCannotBeRemovedAreTriedAgainLater() throws Exception {
        Instance instance = scene.runningSandbox();
        LeftOvers leftOvers = new LeftOvers(scene.layout());
        leftOvers.note(instance, APP, "old");
        guest.refuse("RemoveContainer", Status.INTERNAL, "busy");
        look();
        runtime.upkeep();
        runtime.upkeep();
        eventually().until(() -> guest.count("RemoveContainer") == 1);
        guest.heal("RemoveContainer");

        runtime.upkeep();
        scene.timing().advance(Duration.ofSeconds(14));
        runtime.upkeep();
        assertEquals(List.of("old"), leftOvers.in(instance));

        scene.timing().advance(Duration.ofSeconds(1));
        runtime.upkeep();
        eventually().until(() -> leftOvers.in(instance).isEmpty());
    }

    @Test
    void whatTheAgentOfAVirtualMachineLogsIsKeptByWhatGoesOn() throws Exception {
        scene.agent().haveSandbox(true);
        scene.launched(sandbox(), SANDBOX_LAUNCH, new Identity.Sandbox("vsock://3:1024", 0, true, KataScene.BOOT));
        look();

        runtime.upkeep();
        runtime.upkeep();

        eventually().until(() -> !guest.logs().isEmpty());
        guest.printLog("started\n");
        eventually().until(() -> scene.log(GUEST).equals("started\n"));
    }

    @Test
    void addressesAreSentWithTheirFamilies() throws Exception {
        plugIn();
        configured(sandbox("interfaces: [{name: eth0, hwAddr: \"" + MAC
                + "\", mtu: 1400, addresses: [10.0.0.2/24, \"fd00::2/64\"]}]"));

        Interface link = guest.requests(UpdateInterfaceRequest.class).getFirst().getInterface();
        assertEquals(1400, link.getMtu());
        assertEquals(
                List.of("v4", "v6"),
                link.getIPAddressesList().stream()
                        .map(IPAddress::getFamily)
                        .map(Enum::name)
                        .toList());
    }
}
