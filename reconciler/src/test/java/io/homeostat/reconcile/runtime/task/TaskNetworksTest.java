package io.homeostat.reconcile.runtime.task;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Status;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.Mounts;
import io.homeostat.actuate.task.NetworkNamespaces;
import io.homeostat.desired.model.TaskSpec;
import io.homeostat.desired.state.history.FailureCause.Kind;
import io.homeostat.proto.nomad.driver.CreateNetworkRequest;
import io.homeostat.proto.nomad.driver.CreateNetworkResponse;
import io.homeostat.proto.nomad.driver.DestroyNetworkRequest;
import io.homeostat.proto.nomad.driver.DriverCapabilities;
import io.homeostat.proto.nomad.driver.NetworkIsolationSpec;
import io.homeostat.proto.nomad.driver.NetworkIsolationSpec.NetworkIsolationMode;
import io.homeostat.reconcile.runtime.DriverMachine;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests which network a task gets, who creates it, and that none is left behind. */
class TaskNetworksTest extends TaskTestBed {
    private static final Duration LONG = Duration.ofSeconds(30);

    private TaskNetworks networks;
    private int denied;

    @BeforeEach
    void open() throws Exception {
        Mounts mounts = new Mounts(Files.createFile(root.resolve("mounted")), new Mounts.Kernel() {
            @Override
            public int mount(String source, String directory, String type, long flags, String options) {
                return -denied;
            }

            @Override
            public int detach(String directory) {
                return 0;
            }

            @Override
            public int unshareNetwork() {
                return 0;
            }
        });
        networks = new TaskNetworks(bench.host.layout, bench.tasks, new NetworkNamespaces(mounts));
    }

    private static TaskSpec spec(String mode) {
        return TaskBench.spec("network: {mode: " + mode + "}");
    }

    private static DriverCapabilities.Builder offering(NetworkIsolationMode... modes) {
        return DriverCapabilities.newBuilder().addAllNetworkIsolationModes(List.of(modes));
    }

    private static DriverCapabilities making() {
        return DriverCapabilities.newBuilder().setMustCreateNetwork(true).build();
    }

    private Optional<NetworkIsolationSpec> prepare(String mode, DriverCapabilities capabilities) throws Exception {
        return networks.prepare(TaskBench.WEB, spec(mode), bench.tasks.session("runner", LONG), capabilities, LONG);
    }

    private List<String> note() throws Exception {
        return Files.exists(bench.place.networkNote())
                ? Files.readAllLines(bench.place.networkNote())
                : new ArrayList<>();
    }

    private Path file() {
        return bench.host.layout.network(TaskBench.WEB);
    }

    private void madeByDriver() throws Exception {
        Optional<NetworkIsolationSpec> _ = prepare("group", making());
        bench.driver.calls.clear();
    }

    private void makeRoom() throws Exception {
        Files.createDirectories(bench.place.root());
    }

    @ParameterizedTest
    @CsvSource({"none, NONE", "task, TASK", "group, GROUP"})
    void aModeThatTheDriverOffersIsNotRefused(String mode, NetworkIsolationMode offered) {
        assertEquals(
                "",
                TaskNetworks.refusal(
                        spec(mode), offering(offered).setMustCreateNetwork(true).build()));
        assertFalse(TaskNetworks.refusal(
                        spec(mode),
                        offering(NetworkIsolationMode.HOST)
                                .setMustCreateNetwork(true)
                                .build())
                .isEmpty());
    }

    @Test
    void theNetworkOfTheHostNeedsNoOffer() {
        assertEquals("", TaskNetworks.refusal(spec("host"), offering().build()));
    }

    @Test
    void aGroupNeedsADriverThatMakesIt() {
        assertFalse(TaskNetworks.refusal(
                        spec("group"), offering(NetworkIsolationMode.GROUP).build())
                .isEmpty());
        assertEquals(
                "",
                TaskNetworks.refusal(
                        spec("none"), offering(NetworkIsolationMode.NONE).build()));
        assertEquals(
                "",
                TaskNetworks.refusal(
                        spec("task"), offering(NetworkIsolationMode.TASK).build()));
    }

    @Test
    void aRefusalNamesWhatTheDriverOffersInstead() {
        String refusal = TaskNetworks.refusal(
                spec("task"),
                offering(
                                NetworkIsolationMode.NONE,
                                NetworkIsolationMode.GROUP,
                                NetworkIsolationMode.HOST,
                                NetworkIsolationMode.NONE)
                        .build());

        assertTrue(refusal.startsWith("spec.network.mode: "), refusal);
        assertTrue(refusal.endsWith("group, none"), refusal);
    }

    @Test
    void theNetworkOfTheHostIsNotMade() throws Exception {
        assertEquals(Optional.empty(), prepare("host", making()));

        assertEquals(List.of(), note());
        assertEquals(List.of(), bench.driver.taskCalls());
    }

    @Test
    void aNamespaceIsNotedAndMadeForATaskWithoutANetwork() throws Exception {
        makeRoom();

        NetworkIsolationSpec network =
                prepare("none", DriverCapabilities.getDefaultInstance()).orElseThrow();

        assertEquals(NetworkIsolationMode.NONE, network.getMode());
        assertEquals(file().toString(), network.getPath());
        assertTrue(Files.exists(file()));
        assertEquals(List.of("", "NONE", ""), note());
    }

    @Test
    void aNamespaceThatMayNotBeMadeIsNotedSoThatNothingIsLeft() throws Exception {
        makeRoom();
        denied = 1;

        ActuationFailure failure =
                assertThrows(ActuationFailure.class, () -> prepare("none", DriverCapabilities.getDefaultInstance()));

        assertEquals(Kind.ACCESS_DENIED, failure.failureCause().kind());
        assertEquals(List.of("", "NONE", ""), note());
    }

    @Test
    void aNetworkThatTheDriverMakesWithTheTaskIsNotMadeBefore() throws Exception {
        NetworkIsolationSpec network =
                prepare("task", DriverCapabilities.getDefaultInstance()).orElseThrow();

        assertEquals(NetworkIsolationMode.TASK, network.getMode());
        assertEquals("", network.getPath());
        assertEquals(List.of(), note());
        assertEquals(List.of(), bench.driver.taskCalls());
    }

    @ParameterizedTest
    @ValueSource(strings = {"none", "task", "group"})
    void aDriverThatMakesNetworksIsAskedOnceThatIsNoted(String mode) throws Exception {
        makeRoom();
        List<String> before = new ArrayList<>();
        bench.driver.before("CreateNetwork", () -> before.addAll(note()));

        NetworkIsolationSpec network = prepare(mode, making()).orElseThrow();

        assertEquals("/made/for/" + bench.place.allocation(), network.getPath());
        assertEquals(List.of("runner", mode.toUpperCase(java.util.Locale.ROOT), ""), before);
        assertEquals(3, note().size());
        assertFalse(note().getLast().isEmpty());
        CreateNetworkRequest request = bench.driver.last(CreateNetworkRequest.class);
        assertEquals(bench.place.allocation(), request.getAllocId());
        assertEquals("web", request.getHostname());
        assertFalse(Files.exists(file()));
    }

    @ParameterizedTest
    @EnumSource(
            value = Status.Code.class,
            names = {"UNKNOWN", "UNAVAILABLE"})
    void aNetworkThatTheDriverCouldNotMakeIsTriedAgain(Status.Code code) throws Exception {
        makeRoom();
        bench.driver.failing("CreateNetwork", code.toStatus());

        ActuationFailure failure = assertThrows(ActuationFailure.class, () -> prepare("group", making()));

        assertFalse(failure.fatal());
        assertEquals(List.of("runner", "GROUP", ""), note());
    }

    @Test
    void anAnswerWithoutANetworkIsAFailure() throws Exception {
        makeRoom();
        bench.driver.answering("CreateNetwork", CreateNetworkResponse.getDefaultInstance());

        assertThrows(ActuationFailure.class, () -> prepare("group", making()));
    }

    @ParameterizedTest
    @ValueSource(strings = {"host", "task"})
    void aNetworkThatIsNotWantedAnyMoreIsDestroyedFirst(String mode) throws Exception {
        makeRoom();
        madeByDriver();

        Optional<NetworkIsolationSpec> _ =
                prepare(mode, mode.equals("host") ? making() : DriverCapabilities.getDefaultInstance());

        assertEquals(List.of("DestroyNetwork"), bench.driver.taskCalls());
        assertEquals(List.of(), note());
    }

    @Test
    void anotherModeIsAnotherNetwork() throws Exception {
        makeRoom();
        madeByDriver();

        prepare("task", making());

        assertEquals(List.of("DestroyNetwork", "CreateNetwork"), bench.driver.taskCalls());
        assertEquals("TASK", note().get(1));
    }

    @Test
    void theSameNetworkOfTheSameDriverStays() throws Exception {
        makeRoom();
        madeByDriver();

        prepare("group", making());

        assertEquals(List.of("CreateNetwork"), bench.driver.taskCalls());
    }

    @Test
    void aNamespaceOfOursGivesWayToANetworkOfTheDriver() throws Exception {
        makeRoom();
        prepare("none", DriverCapabilities.getDefaultInstance());

        prepare("none", making());

        assertFalse(Files.exists(file()));
        assertEquals("runner", note().getFirst());
    }

    @Test
    void betweenLaunchesOnlyWhatTheDriverMadeGoes() throws Exception {
        makeRoom();
        prepare("none", DriverCapabilities.getDefaultInstance());
        networks.releaseToDriver(TaskBench.WEB);
        assertTrue(Files.exists(file()));
        assertEquals(3, note().size());

        networks.release(TaskBench.WEB);
        assertFalse(Files.exists(file()));
        assertEquals(List.of(), note());

        madeByDriver();
        networks.releaseToDriver(TaskBench.WEB);
        assertEquals(List.of("DestroyNetwork"), bench.driver.taskCalls());
        assertEquals(List.of(), note());
    }

    @Test
    void aTaskWithoutANetworkHasNoneToRelease() throws Exception {
        networks.release(TaskBench.WEB);
        networks.releaseToDriver(TaskBench.WEB);

        assertEquals(List.of(), bench.driver.calls);
    }

    @Test
    void theDriverIsToldWhichNetworkGoes() throws Exception {
        makeRoom();
        madeByDriver();

        networks.release(TaskBench.WEB);

        DestroyNetworkRequest request = bench.driver.last(DestroyNetworkRequest.class);
        assertEquals(bench.place.allocation(), request.getAllocId());
        assertEquals(
                "/made/for/" + bench.place.allocation(),
                request.getIsolationSpec().getPath());
    }

    @Test
    void aNetworkOfWhichWeDiedBeforeTheAnswerIsAskedForAgain() throws Exception {
        makeRoom();
        Files.writeString(bench.place.networkNote(), "runner\nGROUP\n\n");

        networks.release(TaskBench.WEB);

        assertEquals(List.of("CreateNetwork", "DestroyNetwork"), bench.driver.taskCalls());
        assertEquals(
                "/made/for/" + bench.place.allocation(),
                bench.driver
                        .last(DestroyNetworkRequest.class)
                        .getIsolationSpec()
                        .getPath());
        assertEquals(List.of(), note());
    }

    @Test
    void aDriverThatIsOnItsWayKeepsTheNote() throws Exception {
        makeRoom();
        madeByDriver();
        bench.host.endProcess();

        ActuationFailure failure = assertThrows(ActuationFailure.class, () -> networks.release(TaskBench.WEB));

        assertEquals(Kind.NO_CONNECTION, failure.failureCause().kind());
        assertEquals(3, note().size());
    }

    @Test
    void aDriverThatIsGoneForGoodIsNotWaitedFor() throws Exception {
        makeRoom();
        madeByDriver();
        bench.host.forget(DriverMachine.RUNNER);

        networks.release(TaskBench.WEB);

        assertEquals(List.of(), note());
    }

    @Test
    void aDriverThatDoesNotAnswerKeepsTheNoteAndOneThatRefusesDoesNot() throws Exception {
        makeRoom();
        madeByDriver();
        bench.driver.failing("DestroyNetwork", Status.UNAVAILABLE);
        assertThrows(ActuationFailure.class, () -> networks.release(TaskBench.WEB));
        assertEquals(3, note().size());

        bench.driver.failing("DestroyNetwork", Status.UNKNOWN);
        networks.release(TaskBench.WEB);
        assertEquals(List.of(), note());
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "runner\n", "runner\nNETWORK\n\n", "runner\nGROUP\n*\n", "runner\nGROUP\nAAAA\n"})
    void aNoteThatIsDamagedIsNotTakenForNone(String text) throws Exception {
        makeRoom();
        Files.writeString(bench.place.networkNote(), text);

        assertThrows(ActuationFailure.class, () -> networks.release(TaskBench.WEB));

        assertTrue(Files.exists(bench.place.networkNote()));
    }
}
