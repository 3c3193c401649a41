package io.homeostat.reconcile.runtime.kata;

import static io.homeostat.reconcile.runtime.kata.KataScene.BOOT;
import static io.homeostat.reconcile.runtime.kata.KataScene.ENDPOINT;
import static io.homeostat.reconcile.runtime.kata.KataScene.GUEST;
import static io.homeostat.reconcile.runtime.kata.KataScene.SANDBOX_LAUNCH;
import static io.homeostat.reconcile.runtime.kata.KataScene.START;
import static io.homeostat.reconcile.runtime.kata.KataScene.assertFails;
import static io.homeostat.reconcile.runtime.kata.KataScene.sandbox;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.Iterables;
import io.grpc.Status;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.model.guest.GuestEndpoint;
import io.homeostat.desired.state.Identity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.observe.files.FileContent;
import io.homeostat.observe.files.FileContents;
import io.homeostat.observe.guest.UnreachableGuest.Reason;
import io.homeostat.proto.kata.CreateSandboxRequest;
import io.homeostat.proto.kata.SetGuestDateTimeRequest;
import io.homeostat.proto.kata.SetPolicyRequest;
import io.homeostat.reconcile.runtime.KindRuntime.Creation;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The creation of a sandbox: asked for once, and only of a guest that has none. */
@Timeout(120)
class SandboxLaunchTest extends KataTestBed {
    private MemoryGuest guest;
    private Guests guests;
    private SandboxRuntime runtime;

    @BeforeEach
    void setUp() throws Exception {
        guest = scene.guest();
        guests = scene.guests(scene.machine(), Kind.SANDBOX);
        runtime = new SandboxRuntime(scene.machine(), guests);
    }

    private Creation prepare(Workload declared) throws Exception {
        return runtime.prepare(scene.launchStep(declared, null), ImmutableSet.of());
    }

    private Instance intended(Workload declared) {
        return scene.remember(scene.intended(declared, SANDBOX_LAUNCH));
    }

    private Identity launch(Workload declared) throws Exception {
        return prepare(declared).create(intended(declared));
    }

    private Identity noted(Instance instance) throws Exception {
        return Objects.requireNonNull(scene.launches().completed(instance).identity());
    }

    private void assertNoneWasMade() {
        assertEquals(0, guest.count("CreateSandbox"));
    }

    @Test
    void aFreshGuestIsMadeASandboxOf() throws Exception {
        Instance instance = intended(sandbox());

        Identity identity = launch(sandbox());

        assertEquals(new Identity.Sandbox(ENDPOINT, 1, true, BOOT), identity);
        assertEquals(identity, noted(instance));
        CreateSandboxRequest request = Iterables.getOnlyElement(guest.requests(CreateSandboxRequest.class));
        assertEquals(SANDBOX_LAUNCH, request.getSandboxId());
        assertEquals("guest", request.getHostname());
        assertFalse(request.getSandboxPidns());
        assertFalse(scene.isMarked(instance, "shared-pids"));
        assertFalse(guests.begun().contains(SANDBOX_LAUNCH));
        assertTrue(scene.sandboxNotes().given(instance).isPresent());
        assertEquals(List.of(), guest.methods("SetPolicy", "ListInterfaces", "UpdateInterface", "AddARPNeighbors"));
    }

    @Test
    void theGuestIsToldTheTimeBeforeAnythingRunsInItAndNotAgain() throws Exception {
        Instance instance = intended(sandbox());
        Identity identity = launch(sandbox());

        assertEquals(List.of("SetGuestDateTime", "CreateSandbox"), guest.methods("SetGuestDateTime", "CreateSandbox"));
        assertEquals(
                START.getEpochSecond(),
                guest.requests(SetGuestDateTimeRequest.class).getFirst().getSec());
        Contact contact = guests.contact(SANDBOX_LAUNCH);
        contact.well(instance.withIdentity(identity));
        assertTrue(contact.clockToSet().isEmpty());
    }

    @Test
    void allThatIsDeclaredIsAskedFor() throws Exception {
        Instance instance = intended(sandbox("sharedPidNamespace: true"));

        launch(sandbox(
                "sharedPidNamespace: true",
                "hostname: other",
                "dns: [10.0.0.53]",
                "kernelModules: [\"nf_nat\", \"loop max_loop=8 debug=1\"]",
                "storages: [{driver: ephemeral, fstype: tmpfs, mountPoint: /run/shared, options: [size=1m]}]"));

        CreateSandboxRequest request =
                guest.requests(CreateSandboxRequest.class).getFirst();
        assertEquals("other", request.getHostname());
        assertEquals(List.of("nameserver 10.0.0.53"), request.getDnsList());
        assertTrue(request.getSandboxPidns());
        assertEquals("nf_nat", request.getKernelModules(0).getName());
        assertEquals(List.of(), request.getKernelModules(0).getParametersList());
        assertEquals("loop", request.getKernelModules(1).getName());
        assertEquals(
                List.of("max_loop=8", "debug=1"), request.getKernelModules(1).getParametersList());
        assertEquals("/run/shared", request.getStorages(0).getMountPoint());
        assertEquals("", request.getStorages(0).getSource());
        assertTrue(scene.isMarked(instance, "shared-pids"));
    }

    @Test
    void thePolicyIsReadBeforeTheLaunchAndGivenBeforeAnythingElse() throws Exception {
        Path policy = Files.writeString(root.resolve("rules.rego"), "package agent_policy");
        Workload declared = sandbox("policy: {file: " + policy + "}");

        Creation creation = prepare(declared);
        Files.writeString(policy, "changed meanwhile");
        creation.create(intended(declared));

        assertEquals(
                ImmutableMap.of(
                        policy.toString(), FileContent.of("package agent_policy".getBytes(StandardCharsets.UTF_8))),
                creation.files());
        assertEquals(
                "package agent_policy",
                guest.requests(SetPolicyRequest.class).getFirst().getPolicy());
        assertEquals(
                List.of("SetPolicy", "SetGuestDateTime", "CreateSandbox"),
                guest.methods("SetPolicy", "SetGuestDateTime", "CreateSandbox"));
        assertEquals(ImmutableMap.of(), prepareElsewhere().files());
    }

    private Creation prepareElsewhere() throws Exception {
        scene.agent().reboot();
        return prepare(sandbox());
    }

    @Test
    void aPolicyThatCannotBeReadOrIsRefusedPreventsTheLaunch() throws Exception {
        assertFails(
                FailureCause.Kind.FILE_MISSING,
                () -> prepare(sandbox("policy: {file: " + root.resolve("absent") + "}")));

        Path policy = Files.writeString(root.resolve("rules.rego"), "package agent_policy");
        Path large = Files.write(root.resolve("large.rego"), new byte[FileContents.LARGEST + 1]);
        ActuationFailure refused =
                assertThrows(ActuationFailure.class, () -> prepare(sandbox("policy: {file: " + large + "}")));
        assertTrue(String.valueOf(refused.getMessage()).contains("1 MiB"), refused::getMessage);

        guest.refuse("SetPolicy", Status.INVALID_ARGUMENT);
        assertFails(FailureCause.Kind.REFUSED, () -> launch(sandbox("policy: {file: " + policy + "}")));
        assertNoneWasMade();
    }

    @Test
    void aGuestThatBootsIsWaitedFor() throws Exception {
        guest.vanish(Reason.NOT_UP);
        scene.timing().pass();
        scene.timing().atNextSleep(() -> {});
        scene.timing().atNextSleep(guest::listen);

        launch(sandbox());

        assertEquals(1, guest.count("CreateSandbox"));
        Duration waited = Duration.ofNanos(scene.timing().read());
        assertTrue(waited.compareTo(Duration.ofMillis(200)) >= 0, waited::toString);
        assertTrue(waited.compareTo(Duration.ofSeconds(1)) < 0, waited::toString);
    }

    @Test
    void aGuestThatDoesNotComeIsGivenUpAfterTheTimeoutOfTheStart() {
        guest.vanish(Reason.NO_SOCKET);
        scene.timing().pass();

        assertFails(FailureCause.Kind.NO_CONNECTION, () -> prepare(sandbox("start: {timeout: 5s}")));

        assertEquals(Duration.ofSeconds(5).toNanos(), scene.timing().read());
    }

    @ParameterizedTest
    @ValueSource(strings = {"Check", "UpdateContainer"})
    void aGuestThatDoesNotAnswerIsWaitedForAsWell(String method) throws Exception {
        guest.silence(method);
        scene.timing().pass();
        assertFails(FailureCause.Kind.NO_CONNECTION, () -> prepare(sandbox()));
        assertEquals(Duration.ofSeconds(30).toNanos(), scene.timing().read());

        scene.timing().atNextSleep(() -> guest.heal(method));
        launch(sandbox());

        assertEquals(1, guest.count("CreateSandbox"));
    }

    @Test
    void aGuestThatHasASandboxAlreadyGetsNoOther() {
        scene.agent().haveSandbox(true);

        assertFails(FailureCause.Kind.GUEST_LOST, () -> prepare(sandbox()));

        assertNoneWasMade();
    }

    @Test
    void aGuestThatHasASandboxOfThisWorkloadGetsNoOther() throws Exception {
        scene.launched(sandbox(), "former", KataScene.sandboxIdentity(0));
        scene.agent().haveSandbox(true);

        assertFails(FailureCause.Kind.GUEST_LOST, () -> prepare(sandbox("dependsOn: [process/vm]")));
    }

    @Test
    void twoWorkloadsCannotHaveTheSameGuest() throws Exception {
        Instance other = scene.intended(sandbox(), "l-2");
        scene.launches()
                .write(new Instance(
                        "l-2",
                        new WorkloadId(Kind.SANDBOX, "other"),
                        "target",
                        "r",
                        null,
                        other.inputs(),
                        START,
                        KataScene.sandboxIdentity(0),
                        Instance.Phase.STARTED,
                        ""));
        scene.agent().haveSandbox(true);

        assertFails(FailureCause.Kind.REFUSED, () -> prepare(sandbox()));
    }

    @Test
    void aGuestThatDoesNotSayWhetherItHasASandboxGetsNone() {
        guest.refuse("GetVolumeStats", Status.INTERNAL, "EPERM");

        assertFails(FailureCause.Kind.REFUSED, () -> prepare(sandbox()));

        assertNoneWasMade();
    }

    @Test
    void theFormerSandboxThatWasGivenUpIsDestroyedFirst() throws Exception {
        scene.agent().haveSandbox(true);
        scene.agent().onDestroyed(guest::breakConnections);
        scene.agent().setScrapes(7);
        LostSandboxes lost = new LostSandboxes(scene.machine(), scene.sandboxNotes());
        lost.note(scene.intended(sandbox(), "former"), KataScene.sandboxIdentity(7));
        guest.atNext("CreateSandbox", () -> assertTrue(lost.of(GUEST).isEmpty()));

        launch(sandbox());

        assertEquals(List.of("DestroySandbox", "CreateSandbox"), guest.methods("DestroySandbox", "CreateSandbox"));
        assertTrue(lost.of(GUEST).isEmpty());
    }

    @Test
    void aSandboxOfAnAgentThatWasAskedLessOftenIsNotTheOneThatWasGivenUp() {
        scene.agent().haveSandbox(true);
        LostSandboxes lost = new LostSandboxes(scene.machine(), scene.sandboxNotes());
        lost.note(scene.intended(sandbox(), "former"), KataScene.sandboxIdentity(7));

        assertFails(FailureCause.Kind.GUEST_LOST, () -> prepare(sandbox()));

        assertEquals(0, guest.count("DestroySandbox"));
        assertTrue(lost.of(GUEST).isPresent());
    }

    @ParameterizedTest
    @EnumSource(
            value = Status.Code.class,
            names = {"INTERNAL", "DEADLINE_EXCEEDED", "CANCELLED", "PERMISSION_DENIED"})
    void aGuestWhoseClockCannotBeSetIsUsedAllTheSame(Status.Code code) throws Exception {
        guest.refuse("SetGuestDateTime", code.toStatus());

        launch(sandbox());

        assertEquals(1, guest.count("CreateSandbox"));
        boolean isRefusal = code != Status.Code.CANCELLED;
        assertEquals(!isRefusal, guests.contact(SANDBOX_LAUNCH).isClockNewlyRefused());
    }

    @Test
    void aConnectionThatBreaksWhileTheClockIsSetIsNoRefusal() throws Exception {
        guest.lose("SetGuestDateTime");

        launch(sandbox());

        assertEquals(1, guest.count("CreateSandbox"));
        assertTrue(guests.contact(SANDBOX_LAUNCH).isClockNewlyRefused());
    }

    @Test
    void theLaunchIsNotedBeforeTheSandboxIsAskedFor() throws Exception {
        Instance instance = intended(sandbox());
        AtomicReference<Object> then = new AtomicReference<>("");
        guest.atNext("CreateSandbox", () -> {
            try {
                assertTrue(guests.begun().contains(SANDBOX_LAUNCH));
                assertTrue(scene.sandboxNotes().given(instance).isPresent());
                then.set(noted(instance));
            } catch (Exception e) {
                then.set(e);
            }
        });

        launch(sandbox());

        assertEquals(new Identity.Sandbox(ENDPOINT, 1, false, BOOT), then.get());
    }

    @Test
    void whereTheLaunchCannotBeNotedNothingIsAskedFor() throws Exception {
        Instance instance = intended(sandbox());
        Creation creation = prepare(sandbox());
        Path launch = scene.layout().launch(GUEST, SANDBOX_LAUNCH);
        Files.createDirectories(launch.getParent());
        Files.writeString(launch, "in the way");

        KataScene.cause(() -> creation.create(instance));

        assertNoneWasMade();
        assertFalse(guests.begun().contains(SANDBOX_LAUNCH));
    }

    private void assertHalfMade(FailureCause.Kind kind) throws Exception {
        LostSandboxes lost = new LostSandboxes(scene.machine(), scene.sandboxNotes());
        lost.note(scene.intended(sandbox(), "former"), KataScene.sandboxIdentity(7));
        Instance instance = intended(sandbox());

        assertFails(kind, () -> launch(sandbox()));

        assertEquals(new Identity.Sandbox(ENDPOINT, 1, false, BOOT), noted(instance));
        assertEquals(1, guest.count("CreateSandbox"));
        assertTrue(guests.contact(SANDBOX_LAUNCH).reached().isEmpty());
        assertTrue(lost.of(GUEST).isPresent());
        assertFalse(guests.begun().contains(SANDBOX_LAUNCH));
    }

    @Test
    void aSandboxThatIsRefusedIsNotAskedForAgain() throws Exception {
        guest.refuse("CreateSandbox", Status.INTERNAL, "no module");
        assertHalfMade(FailureCause.Kind.REFUSED);
    }

    @Test
    void aSandboxWhoseCreationIsNotAnsweredIsNotAskedForAgain() throws Exception {
        guest.silence("CreateSandbox");
        assertHalfMade(FailureCause.Kind.TIMED_OUT);
    }

    @Test
    void aSandboxIsNotAskedForAgainWhenTheConnectionBreaks() throws Exception {
        guest.lose("CreateSandbox");
        assertHalfMade(FailureCause.Kind.CONNECTION_LOST);
    }

    @Test
    void anAgentThatDoesNotCountIsNotTakenForOneThatDoes() throws Exception {
        scene.agent().tellMetrics("");

        assertEquals(new Identity.Sandbox(ENDPOINT, 0, true, BOOT), launch(sandbox()));
    }

    @Test
    void whatTheGuestHadBeforeItBootedIsOver() throws Exception {
        Instance former = scene.launched(sandbox(), "former", KataScene.sandboxIdentity(0));
        Instance instance = intended(sandbox());

        launch(sandbox());

        assertTrue(scene.isMarked(former, "guest-booted"));
        assertFalse(scene.isMarked(instance, "guest-booted"));
    }

    @Test
    void aLaunchThatNobodyRemembersIsDestroyedFirst() throws Exception {
        Instance forgotten = scene.launched(sandbox(), "forgotten", KataScene.sandboxIdentity(0));
        scene.forget(GUEST);

        prepare(sandbox());

        assertFalse(Files.exists(scene.file(forgotten, "launch.json").getParent()));
    }

    @Test
    void ofTwoLaunchesInOneGuestTheSecondFindsItTaken() throws Exception {
        Creation first = prepare(sandbox());
        Creation second = prepare(sandbox());

        first.create(intended(sandbox()));
        Instance late = scene.intended(sandbox(), "s-2");

        assertFails(FailureCause.Kind.GUEST_LOST, () -> second.create(late));
        assertEquals(1, guest.count("CreateSandbox"));
    }

    @Test
    void aLaunchThatWaitsForAnotherInTheSameGuestHasAnEnd() throws Exception {
        Creation first = prepare(sandbox());
        Creation second = prepare(sandbox("start: {timeout: 20ms}"));
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch goesOn = new CountDownLatch(1);
        guest.atNext("CreateSandbox", () -> {
            begun.countDown();
            awaitLatch(goesOn);
        });
        try (var other = Executors.newVirtualThreadPerTaskExecutor()) {
            Instance early = intended(sandbox());
            Future<Identity> made = other.submit(() -> first.create(early));
            begun.await();

            assertFails(FailureCause.Kind.TIMED_OUT, () -> second.create(scene.intended(sandbox(), "s-2")));

            goesOn.countDown();
            made.get();
        }
        assertFails(FailureCause.Kind.GUEST_LOST, () -> second.create(scene.intended(sandbox(), "s-2")));
        assertEquals(1, guest.count("CreateSandbox"));
    }

    private static void awaitLatch(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Test
    void theSandboxOfALaunchThatFailedIsAskedForByTheNextOne() throws Exception {
        guest.refuse("CreateSandbox", Status.INTERNAL, "busy");
        assertFails(FailureCause.Kind.REFUSED, () -> launch(sandbox()));
        guest.heal("CreateSandbox");

        Instance next = scene.intended(sandbox(), "s-2");
        prepare(sandbox()).create(next);

        assertEquals(2, guest.count("CreateSandbox"));
        assertEquals(
                List.of("s-2"),
                scene.sandboxNotes().at(GuestEndpoint.parse(ENDPOINT)).stream()
                        .map(Instance::launchId)
                        .toList());
    }
}
