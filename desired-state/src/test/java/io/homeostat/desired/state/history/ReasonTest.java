package io.homeostat.desired.state.history;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.EnumSet;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class ReasonTest {
    @Test
    void whatHappensToTheMachineByItselfIsDrift() {
        Set<Reason> drift = Stream.of(Reason.values())
                .filter(Reason::isDrift)
                .collect(Collectors.toCollection(() -> EnumSet.noneOf(Reason.class)));

        assertEquals(
                EnumSet.of(
                        Reason.INSTALL_MISSING,
                        Reason.INSTALL_DAMAGED,
                        Reason.LINK_MOVED,
                        Reason.SOCKET_MISSING,
                        Reason.LOG_MISSING,
                        Reason.LIMITS_DRIFTED,
                        Reason.CONFIG_DRIFTED,
                        Reason.GUEST_LOST,
                        Reason.PROCESS_EXITED,
                        Reason.PROCESS_MISSING,
                        Reason.PROCESS_SURPLUS,
                        Reason.PROCESS_UNKNOWN,
                        Reason.CRASH_LOOP,
                        Reason.GIVEN_UP,
                        Reason.UNHEALTHY,
                        Reason.HUNG,
                        Reason.PARENT_CHANGED,
                        Reason.CANNOT_OBSERVE),
                drift);
    }

    @Test
    void aReasonIsShownInCamelCase() {
        assertEquals("NotInstalled", Reason.NOT_INSTALLED.word());
        assertEquals("Paused", Reason.PAUSED.word());
        assertEquals("AtDesiredState", Reason.AT_DESIRED_STATE.word());
    }

    @Test
    void conditionsAreShownAsKubernetesShowsThem() {
        assertEquals(
                "Converged Healthy Paused GivenUp RolledBack LimitsNotEnforced Disabled",
                Stream.of(Condition.Type.values()).map(Condition.Type::word).collect(Collectors.joining(" ")));
        assertEquals(
                "True False Unknown",
                Stream.of(Condition.Status.values()).map(Condition.Status::word).collect(Collectors.joining(" ")));
    }
}
