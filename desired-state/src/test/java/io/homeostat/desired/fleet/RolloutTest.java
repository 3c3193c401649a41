package io.homeostat.desired.fleet;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.json.JsonMapper;
import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.BriefText;
import io.homeostat.desired.model.RolloutSpec;
import io.homeostat.desired.model.RolloutSpec.Need;
import io.homeostat.desired.model.RolloutSpec.OnFailure;
import io.homeostat.desired.model.schema.Portion;
import io.homeostat.desired.state.RecordCodec;
import java.time.Duration;
import java.time.Instant;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RolloutTest {
    private static final Instant NOON = Instant.parse("2026-11-01T12:00:00Z");

    @Test
    void whatItBringsTellsItFromOthersNotHowItIsPaced() {
        Rollout rollout = Rollout.of("web", spec("1", "2", null, 5, "process/a", "process/b"));

        assertEquals(
                rollout.digest(),
                Rollout.of("web", spec("1", "2", null, 9, "process/b", "process/a"))
                        .digest());
        assertEquals(
                rollout.digest(),
                Rollout.of("web", spec("1", "2", "web", 5, "process/a", "process/b"))
                        .digest());
        for (Rollout other : ImmutableList.of(
                Rollout.of("web", spec("1", "3", null, 5, "process/a", "process/b")),
                Rollout.of("web", spec("0", "2", null, 5, "process/a", "process/b")),
                Rollout.of("web", spec("1", "2", "seed", 5, "process/a", "process/b")),
                Rollout.of("web", spec("1", "2", null, 5, "process/a")),
                Rollout.of("other", spec("1", "2", null, 5, "process/a", "process/b")))) {
            assertNotEquals(rollout.digest(), other.digest());
        }
    }

    @Test
    void aMachineIsLetInByItsPlaceAndWhenItCame() {
        Rollout rollout = Rollout.of("web", spec("1", "2", null, 5, "process/a"));
        String place = rollout.place("vm-1");

        assertTrue(state(rollout, place, 7).admits(rollout, "vm-1", 7));
        assertFalse(state(rollout, place, 7).admits(rollout, "vm-1", 8), "it came later");
        assertFalse(state(rollout, place.substring(0, 8), 7).admits(rollout, "vm-1", 7), "it is behind");
        assertFalse(state(rollout, Rollout.NOBODY, 7).admits(rollout, "vm-1", 7));
        assertTrue(state(rollout, Rollout.EVERYBODY, 7).admits(rollout, "vm-1", 8));
        assertFalse(state(rollout, Rollout.EVERYBODY, 7)
                .admits(Rollout.of("web", spec("1", "3", null, 5, "process/a")), "vm-1", 7));
    }

    @Test
    void aStateIsReadAsItWasWritten() {
        RecordCodec codec = new RecordCodec(new JsonMapper());
        RolloutState state = state(Rollout.of("web", spec("1", "2", null, 5, "process/a")), Rollout.NOBODY, 7);

        assertEquals(state, codec.read(RolloutState.class, codec.write(state)));
    }

    @ParameterizedTest
    @CsvSource({
        "wave, -2",
        "wave, 2147483647",
        "through, '\"ffffffffffffffff0\"'",
        "asOf, -1",
        "asOf, 9223372036854775807",
        "machines, -1",
        "machines, 2147483647",
        "forgiven, -5",
        "forgiven, 2147483647",
        "order, -1",
        "order, 9223372036854775807",
        "opened, '\"+1000000000-12-31T23:59:59Z\"'",
        "since, '\"-1000000000-01-01T00:00:00Z\"'",
        "wellSince, '\"+1000000000-12-31T23:59:59Z\"'",
    })
    void aStateThatNobodyCanReckonWithIsRefused(String part, String value) throws Exception {
        JsonMapper json = new JsonMapper();
        RecordCodec codec = new RecordCodec(json);
        String text = json.writeValueAsString(json.readerForUpdating(json.readTree(
                        codec.write(state(Rollout.of("web", spec("1", "2", null, 5)), "", 7))))
                .readTree("{\"" + part + "\":" + value + "}"));

        String message =
                String.valueOf(assertThrows(IllegalArgumentException.class, () -> codec.read(RolloutState.class, text))
                        .getMessage());

        assertTrue(message.startsWith(part + ": "), message);
    }

    @Test
    void machinesTakeAStateWhateverItsReason() {
        RolloutState state =
                state(Rollout.of("web", spec("1", "2", null, 5)), Rollout.NOBODY, 7, "\u0001".repeat(1 << 20));

        assertEquals(state, SetSelection.parsed(new RecordCodec(new JsonMapper()).write(state)));
        assertTrue(state.reason().endsWith("\u0001..."), state.reason());
    }

    @Test
    void whoGaveAnOrderIsSaidBriefly() {
        RolloutOrder order = new RolloutOrder("1", RolloutOrder.Action.PAUSE, NOON, "a".repeat(1 << 20));

        assertEquals(BriefText.LONGEST, order.by().length());
    }

    private static RolloutState state(Rollout rollout, String through, long asOf) {
        return state(rollout, through, asOf, "wave 1 of 2 is open");
    }

    private static RolloutState state(Rollout rollout, String through, long asOf, String reason) {
        return new RolloutState(
                rollout.digest(), RolloutState.Phase.PROGRESSING, 0, through, asOf, 1, NOON, NOON, null, 0, 0, reason);
    }

    private static RolloutSpec spec(String from, String to, @Nullable String seed, int hold, String... workloads) {
        return new RolloutSpec(
                ImmutableList.copyOf(workloads),
                from,
                to,
                ImmutableList.of(new Portion(1, false), new Portion(100, true)),
                Duration.ofMinutes(hold),
                Duration.ofMinutes(30),
                ImmutableList.copyOf(Need.values()),
                new Portion(0, false),
                OnFailure.HALT,
                seed);
    }
}
