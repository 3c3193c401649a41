package io.homeostat.desired.state.history;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.desired.state.history.Exit.Reason;
import java.time.Instant;
import java.util.EnumSet;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class ExitTest {
    @Test
    void wantOfMemoryIsSaidOfTheProcessOrOfItsTree() {
        assertEquals("exited with status 137, out of memory", outOfMemory(137, 9));
        assertEquals(outOfMemory(137, 9), outOfMemory(null, 9));
        assertEquals(
                "exited with status 7 after a process of its tree was killed, out of memory", outOfMemory(7, null));
    }

    @Test
    void aSignalIsNamedWithItsNumber() {
        assertEquals(
                "was ended by signal 9 (SIGKILL)", exit(137, 9, Reason.SIGNALED).words());
        assertEquals(
                "was ended by signal of an unknown number",
                exit(null, null, Reason.SIGNALED).words());
    }

    private static String outOfMemory(@Nullable Integer code, @Nullable Integer signal) {
        return exit(code, signal, Reason.OOM_KILLED).words();
    }

    private static Exit exit(@Nullable Integer code, @Nullable Integer signal, Reason reason) {
        return new Exit(code, signal, reason, Instant.EPOCH);
    }

    private static Set<Reason> reasons(Predicate<Reason> which) {
        return Stream.of(Reason.values())
                .filter(which)
                .collect(Collectors.toCollection(() -> EnumSet.noneOf(Reason.class)));
    }

    @ParameterizedTest
    @CsvSource({
        "EXITED, 0, true",
        "EXITED, 1, false",
        "EXITED, , false",
        "STOPPED, 0, false",
        "OOM_KILLED, 0, false",
        "UNKNOWN, 0, false",
    })
    void aProcessSucceedsWhenItExitsByItselfWithStatusZero(Reason reason, @Nullable Integer code, boolean success) {
        assertEquals(success, exit(code, null, reason).isSuccess());
    }

    @Test
    void reasonsAreClassified() {
        assertEquals(EnumSet.of(Reason.OOM_KILLED, Reason.OOM_INFERRED), reasons(Reason::isOutOfMemory));
        assertEquals(EnumSet.of(Reason.GUEST_GONE, Reason.GUEST_BOOTED), reasons(Reason::isOfGuest));
    }

    @ParameterizedTest
    @CsvSource({"EXITED, 3, , 3", "SIGNALED, , 15, SIGTERM", "OOM_INFERRED, 137, 9, 137"})
    void wordsNameTheStatusOrTheSignal(Reason reason, @Nullable Integer code, @Nullable Integer signal, String named) {
        String words = exit(code, signal, reason).words();

        assertTrue(words.contains(named), words);
    }

    @ParameterizedTest
    @EnumSource(Reason.class)
    void theEndOfAProcessIsToldOfTheProcessAndThatOfAGuestOfTheGuest(Reason reason) {
        Exit exit = exit(null, null, reason);

        assertTrue(exit.sentence().endsWith(exit.words()), exit.sentence());
        assertEquals(reason.isOfGuest(), exit.sentence().equals(exit.words()));
    }

    @Test
    void everyReasonHasItsOwnWords() {
        assertEquals(
                Reason.values().length,
                Stream.of(Reason.values())
                        .map(each -> exit(1, 9, each).words())
                        .filter(words -> !words.isEmpty())
                        .distinct()
                        .count());
    }
}
