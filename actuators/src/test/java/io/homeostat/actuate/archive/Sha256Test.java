package io.homeostat.actuate.archive;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.actuate.Chunk;
import io.homeostat.actuate.archive.Sha256.OpenSslSha256;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;

final class Sha256Test {
    private static final String OF_ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    @Test
    void abcHasTheHashOfTheStandard() {
        try (Sha256 chosen = Sha256.start();
                Sha256 jdk = Sha256.ofJdk()) {
            chosen.update("abc...".getBytes(US_ASCII), 3);
            jdk.update("abc...".getBytes(US_ASCII), 3);

            assertEquals(OF_ABC, chosen.finish());
            assertEquals(OF_ABC, jdk.finish());
        }
    }

    @Test
    void bothImplementationsAgreeWhateverThePieces() {
        Random random = new Random(7);
        for (int round = 0; round < 50; round++) {
            try (Sha256 chosen = Sha256.start();
                    Sha256 jdk = Sha256.ofJdk()) {
                for (int piece = 0; piece < random.nextInt(6); piece++) {
                    byte[] bytes = new byte[random.nextInt(3 * Chunk.BYTES)];
                    random.nextBytes(bytes);
                    int length = random.nextInt(bytes.length + 1);
                    chosen.update(bytes, length);
                    jdk.update(bytes, length);
                }
                assertEquals(jdk.finish(), chosen.finish());
            }
        }
    }

    @Test
    void aMachineWithoutTheLibraryUsesTheJdks() {
        assertEquals(Optional.empty(), OpenSslSha256.start("libno-such-library.so.3"));
        assertTrue(OpenSslSha256.start("libc.so.6").isEmpty(), "a library without the functions is as good as none");
    }
}
