package io.homeostat.e2e;

import org.junit.jupiter.api.BeforeAll;

/** The published agent. What it does is known from measurements, by which the fake guest behaves; here it is asked itself. */
final class KataAgentTest extends KataAgentContract {
    KataAgentTest() {
        super(KataAgent.published());
    }

    /** Here rather than by the extensions, all of which clean up however far they came. */
    @BeforeAll
    static void skipWithoutOne() {
        KataAgent.published().orSkip();
    }
}
