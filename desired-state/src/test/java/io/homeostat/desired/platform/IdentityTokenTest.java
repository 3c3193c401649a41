package io.homeostat.desired.platform;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.homeostat.controlplane.FakeMetadataServer;
import io.homeostat.desired.platform.MetadataServer.Answer;
import io.homeostat.desired.platform.MetadataServer.Answer.Absent;
import io.homeostat.desired.platform.MetadataServer.Answer.Present;
import io.homeostat.desired.platform.MetadataServer.Answer.Unreachable;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import org.junit.jupiter.api.Test;

class IdentityTokenTest {
    private static final Instant NOON = Instant.parse("2026-11-20T12:00:00Z");

    private Instant now = NOON;
    private Answer said = new Present(token(1));
    private int asked;
    private final IdentityToken token = new IdentityToken(
            () -> {
                asked++;
                return said;
            },
            () -> now);

    @Test
    void itIsRenewedTenMinutesBeforeItExpires() throws Exception {
        assertEquals(token(1), token.get());
        said = new Present(token(2));
        now = NOON.plus(Duration.ofMinutes(49));
        assertEquals(token(1), token.get());
        assertEquals(1, asked);

        now = NOON.plus(Duration.ofMinutes(50));
        assertEquals(token(2), token.get());
    }

    @Test
    void whenItCannotBeRenewedTheOldOneServesUntilItExpires() throws Exception {
        token.get();
        said = new Unreachable("down");
        now = NOON.plus(Duration.ofMinutes(59));
        assertEquals(token(1), token.get());

        now = NOON.plus(Duration.ofMinutes(60));
        assertEquals("down", assertThrows(IOException.class, token::get).getMessage());
    }

    @Test
    void aRefusedOneIsNotUsedAgain() throws Exception {
        token.get();
        said = new Present(token(2));
        token.refused();

        assertEquals(token(2), token.get());
    }

    @Test
    void anInstanceWithoutAServiceAccountIsToldWhatToDo() {
        said = new Absent();

        assertEquals(
                "the metadata server gives this instance no identity token; give it a service account",
                assertThrows(IOException.class, token::get).getMessage());
    }

    @Test
    void whatDoesNotSayWhenItExpiresIsAskedForEachTime() throws Exception {
        // The last one has expired at Instant.MIN.
        for (String opaque : new String[] {
            "opaque",
            "a.b.c",
            "a.e30.c",
            "a.!.c",
            "a.eyJleHAiOiJ4In0.c",
            "a.eyJleHAiOjFlMzB9.c",
            "a.eyJleHAiOi0zMTU1NzAxNDE2NzIxOTIwMH0.c"
        }) {
            said = new Present(opaque + "\n");
            int before = asked;
            assertEquals(opaque, token.get());
            assertEquals(opaque, token.get());
            assertEquals(2, asked - before, opaque);
        }
    }

    private static String token(long serial) {
        return FakeMetadataServer.identityToken("audience", NOON.plus(Duration.ofHours(1)), serial);
    }
}
