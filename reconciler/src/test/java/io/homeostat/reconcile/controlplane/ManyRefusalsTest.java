package io.homeostat.reconcile.controlplane;

import static io.homeostat.reconcile.controlplane.Messages.apply;
import static io.homeostat.reconcile.controlplane.Messages.install;
import static io.homeostat.reconcile.controlplane.Messages.remove;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.homeostat.desired.state.StateReader.EventQueue;
import io.homeostat.proto.acp.ConfigurePluginStates.ConfigurePlugin;
import io.homeostat.reconcile.controlplane.ConfigureEvents.RefusalLimit;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Collections;
import java.util.List;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A control plane that is wrong thousands of times is told so, but not so often that nothing else can be told. */
class ManyRefusalsTest {
    private static final int MOST = Requests.MOST_ITEMS;

    @TempDir
    Path directory;

    private Declaring here;

    @BeforeEach
    void open() {
        here = new Declaring(directory);
        here.store().outbox().open();
    }

    @AfterEach
    void close() {
        here.close();
    }

    @Test
    void eachRefusedItemOfAMessageIsToldHoweverManyThereAre() {
        here.receive(many(i -> install("p" + i, "1", ManyRefusalsTest::wrong)));

        assertEquals(2L * MOST, here.told().size());
        assertEquals(new EventQueue(true, 2L * MOST, 0, 0, 0), here.store().eventQueue());
    }

    @Test
    void whatIsRefusedAlikeInOneMessageIsToldOnce() {
        here.receive(many(i -> i % 2 == 0 ? remove("nobody") : apply("nobody", "c" + i)));

        assertEquals(List.of("REMOVE_FAILED nobody", "CONFIG_APPLY_FAILED nobody"), here.told());
        assertEquals(0, here.store().eventQueue().withheld());
    }

    @Test
    void whatIsRefusedForTheSameReasonIsToldOnceHoweverThatIsWorded() {
        here.receive(many(
                i -> install("a", "1", item -> item.getManifestBuilder().setMaxCpuUsagePercentage(-1 - i))));

        assertEquals(List.of("CONFIG_INSTALL a 1", "INSTALL_FAILED a 1"), here.told());
        assertEquals(0, here.store().eventQueue().withheld());
    }

    @Test
    void whatIsThereAlreadyIsToldOnceOfAllThatAskForItInARow() {
        here.receive(install("a", "1")).knownGood("a").told();

        here.receive(Collections.nCopies(MOST, install("a", "1")).toArray(ConfigurePlugin[]::new));

        assertEquals(List.of("CONFIG_INSTALL a 1", "INSTALLED a 1"), here.told());
    }

    @Test
    void moreThanAMessageOfRefusalsForUndeclaredNamesIsCountedInsteadAndOfDeclaredOnesStillTold() {
        here.receive(install("a", "1")).knownGood("a");
        here.receive(many(i -> remove("x" + i))).told();

        here.receive(many(i -> remove("y" + i)));
        here.receive(remove("z"), apply("z", "c"), install("a", "2", ManyRefusalsTest::wrong));

        assertEquals(List.of("CONFIG_INSTALL a 2", "INSTALL_FAILED a 2"), here.told());
        assertEquals(MOST + 2, here.store().eventQueue().withheld());
    }

    @Test
    void ofADeclaredPluginTooNoMoreThanAMessageOfRefusalsIsToldAtOnce() {
        here.receive(install("a", "1")).knownGood("a").told();
        for (String round : List.of("x", "y")) {
            here.receive(many(i -> install("a", round + i, ManyRefusalsTest::wrong)));
        }

        assertEquals(2L * MOST, here.told().size());
        assertEquals(MOST, here.store().eventQueue().withheld());
    }

    @Test
    void timeLetsMoreBeTold() {
        here.receive(many(i -> remove("x" + i))).told();

        here.pass(RefusalLimit.INTERVAL.multipliedBy(2)).receive(remove("a"), remove("b"), remove("c"));
        assertEquals(List.of("REMOVE_FAILED a", "REMOVE_FAILED b"), here.told());

        here.pass(Duration.ofDays(1)).receive(many(i -> remove("y" + i))).receive(remove("d"));
        assertEquals(MOST, here.told().size());
        assertEquals(2, here.store().eventQueue().withheld());
    }

    @Test
    void aClockThatIsSetBackHoldsNothingForEver() {
        RefusalLimit limit = new RefusalLimit();
        assertEquals(new RefusalLimit.Count(MOST, MOST), limit.available(Instant.EPOCH.plusSeconds(1_000_000)));
        limit.told(new RefusalLimit.Count(MOST, MOST));

        assertEquals(new RefusalLimit.Count(0, 0), limit.available(Instant.EPOCH));
        assertEquals(new RefusalLimit.Count(1, 1), limit.available(Instant.EPOCH.plus(RefusalLimit.INTERVAL)));
    }

    private static ConfigurePlugin[] many(IntFunction<ConfigurePlugin> item) {
        return IntStream.range(0, MOST).mapToObj(item).toArray(ConfigurePlugin[]::new);
    }

    private static void wrong(ConfigurePlugin.Builder item) {
        item.getPluginBuilder().setChecksum("beef");
    }
}
