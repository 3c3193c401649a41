package io.homeostat.reconcile.plan;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.Lifecycle.Limits;
import io.homeostat.desired.model.Lifecycle.MaxDisruption;
import io.homeostat.desired.model.Lifecycle.Triggers;
import io.homeostat.desired.model.MaintenanceWindow;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.model.schema.Size;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.health.Health;
import io.homeostat.reconcile.plan.Relations.Need;
import io.homeostat.reconcile.sim.Declarations;
import io.homeostat.reconcile.sim.Wish;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Repairs wait neither for a maintenance window nor for others of a group; but nothing is stopped that could not be started again. */
class OrderedRepairTest {
    private static final WorkloadId DB = WorkloadId.process("db");
    private static final Instant LONG_AGO = Example.NOW.minusSeconds(600);
    private static final MaxDisruption ONE = new MaxDisruption("tier", 1);
    private static final MaintenanceWindow CLOSED =
            new MaintenanceWindow("02:00", Duration.ofHours(1), ImmutableList.of("sat"), "UTC");

    @Test
    void damagedFilesAreRepairedOutsideTheWindowWhileAChangeWaitsForIt() {
        Example example = damaged().wants(arguments("-v").ordered(order(null, CLOSED)));

        assertEquals("reinstall INSTALL_DAMAGED: stop activate launch start", example.planned());
        Step.Launch launch = (Step.Launch) example.plan().steps().get(2);
        assertEquals(ImmutableList.of(), launch.declared().program().arguments());
    }

    @Test
    void damagedFilesAreRepairedHoweverManyOfTheGroupAreDown() {
        Example example = damaged()
                .wants(Wish.of("B", ImmutableList.of(), "c").ordered(order(ONE, null)))
                .among(down());

        assertEquals("reinstall INSTALL_DAMAGED: stop activate launch start", example.planned());
        assertEquals(Optional.empty(), disruption(example));
    }

    @Test
    void soAreThoseOfWhatWaitsForItsGroupWithItsSuccessorInstalledBesideIt() {
        Example example = damaged()
                .wants(Wish.of("B", ImmutableList.of(), "c").ordered(order(ONE, null)))
                .installedBeside("B")
                .among(down());

        assertEquals("reinstall INSTALL_DAMAGED: stop activate launch start", example.planned());
    }

    @Test
    void soAreThoseOfWhatDiffersFromItsSuccessorByItsArchiveAlone() {
        Wish rebuilt = new Wish(
                "A",
                "rebuilt",
                ImmutableList.of(),
                "c",
                0,
                Wish.Probing.NONE,
                Limits.NONE,
                Declarations.DAEMON,
                order(ONE, null));
        Example example =
                damaged().installedBeside("A", "rebuilt").wants(rebuilt).among(down());

        assertEquals("reinstall INSTALL_DAMAGED: stop activate launch start", example.planned());
    }

    @Test
    void whatRunsFromDamagedFilesIsNotStoppedWhileItCouldNotBeStartedAgain() {
        Example example = damaged().wants("A").among(needs(Need.State.STUCK));

        assertEquals("wait WAITING_FOR_DEPENDENCY: wait", example.planned());
    }

    @Test
    void norIsWhatHasLostItsSocketOrItsLog() {
        for (ObservedInstance.Loss loss : List.of(ObservedInstance.Loss.SOCKET, ObservedInstance.Loss.LOG)) {
            Example example = Example.plugin()
                    .wants("A")
                    .knownGood("A")
                    .installed("A")
                    .active("A")
                    .lost("A", loss);
            assertTrue(example.planned().startsWith("restart"), example::planned);

            assertEquals(
                    "wait WAITING_FOR_DEPENDENCY: wait",
                    example.among(needs(Need.State.STUCK)).planned());
        }
    }

    @Test
    void whatIsBroughtBackOutsideItsWindowIsNotGivenItsNewLimitsWhileItStarts() {
        Example example = Example.plugin()
                .knownGood("A")
                .installed("A")
                .active("A")
                .runs("A", Phase.CREATED, Duration.ofMillis(100), null)
                .limited(Limits.NONE)
                .wants(Wish.of("A", ImmutableList.of(), "c")
                        .limited(new Limits(new Size(64 << 20), null, false))
                        .ordered(order(null, CLOSED)));

        assertEquals("wait START_NOT_FINISHED: wait start", example.planned());
    }

    @Test
    void whatRunsWellTakesAPlaceOfItsGroupWhenItIsStoppedForAChange() {
        assertEquals(Optional.of(ONE), disruption(upgrade().runs("A")));
    }

    /** It is down already, and those that are down may be waiting for it. */
    @Test
    void whatDoesNotRunWellTakesNone() {
        Example never = upgrade().runs("A", Phase.CREATED, Duration.ofHours(1), null);
        Health sickness = Health.failed(Health.Verdict.UNHEALTHY, "says no", Example.NOW);
        Example sick = upgrade()
                .runs("A", Phase.STARTED, Duration.ofHours(1), sickness)
                .history(history ->
                        history.withRun(history.run().unhealthy(LONG_AGO).unhealthy(LONG_AGO)));

        assertEquals(Optional.empty(), disruption(never));
        assertEquals(Optional.empty(), disruption(sick));
    }

    @Test
    void norDoesWhatIsToRunToItsEndFromNowOn() {
        Wish oneShot = Wish.of("B", ImmutableList.of(), "c")
                .when(new Triggers(true, false, null))
                .ordered(order(ONE, null));

        Example example = upgrade().wants(oneShot).runs("A");

        assertEquals(Optional.empty(), disruption(example));
    }

    /** By the first step that is planned, which is to stop what runs. */
    private static Optional<MaxDisruption> disruption(Example example) {
        Situation situation = example.learned().situation();
        Step first = Planner.plan(situation).next().orElseThrow();
        assertTrue(first instanceof Step.Stop, first::toString);
        return situation.disruptionBy(first);
    }

    private static Example upgrade() {
        return Example.plugin()
                .knownGood("A")
                .installed("A")
                .installed("B")
                .active("A")
                .wants(Wish.of("B", ImmutableList.of(), "c").ordered(order(ONE, null)));
    }

    /** Running from files that are damaged; whole ones are there beside them. */
    private static Example damaged() {
        return Example.plugin()
                .knownGood("A")
                .damaged("A")
                .installedBeside("A")
                .active("A")
                .runs("A");
    }

    private static Wish arguments(String argument) {
        return Wish.of("A", ImmutableList.of(argument), "c");
    }

    private static Wish.Order order(@Nullable MaxDisruption disruption, @Nullable MaintenanceWindow window) {
        return new Wish.Order(ImmutableList.of(), disruption, window);
    }

    private static Relations needs(Need.State state) {
        return new Relations(
                ImmutableList.of(new Need(DB, state)), ImmutableList.of(), ImmutableList.of(), ImmutableList.of());
    }

    private static Relations down() {
        return new Relations(
                ImmutableList.of(),
                ImmutableList.of(),
                ImmutableList.of(),
                ImmutableList.of(new Need(DB, Need.State.COMING)));
    }
}
