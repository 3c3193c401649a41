package io.homeostat.desired.model;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Optional;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SignalNamesTest {
    @ParameterizedTest
    @ValueSource(strings = {"TERM", "term", "SIGTERM", "SigTerm", "15"})
    void aSignalIsKnownByItsNameInShortAndByItsNumber(String word) {
        assertEquals(Optional.of("SIGTERM"), SignalNames.named(word));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "SIG", "SIGSIGTERM", "FROB", "0", "-15", "64", "1e1", " TERM"})
    void whatIsNoSignalIsNone(String word) {
        assertEquals(Optional.empty(), SignalNames.named(word));
    }
}
