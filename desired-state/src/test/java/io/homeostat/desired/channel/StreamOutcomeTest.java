package io.homeostat.desired.channel;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class StreamOutcomeTest {
    @Test
    void whatTheOtherSideSaysIsShownOnOneLineWithoutSecretsAndWithinBounds() {
        String said = "no:\n\u001b[31m\u202etoken https://b.example/x?sig=sesame ";

        assertEquals(
                "no: ?[31m?... https://b.example/x?... " + "x".repeat(459) + "...",
                StreamOutcome.shown(said + "x".repeat(1000), "token"));
    }
}
