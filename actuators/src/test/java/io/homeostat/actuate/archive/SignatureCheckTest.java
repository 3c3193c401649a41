package io.homeostat.actuate.archive;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.hash.Hashing;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.LocalDisk;
import io.homeostat.actuate.archive.SignatureCheck.SignaturePolicy;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.signature.TrustedKeys;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SignatureCheckTest {
    private static final WorkloadId ID = WorkloadId.process("p");
    private static final byte[] ARCHIVE = "an archive".getBytes(UTF_8);
    private static final String SHA256 = Hashing.sha256().hashBytes(ARCHIVE).toString();
    private static final String UNVERIFIED = ArchiveStore.UNVERIFIED + "0".repeat(64);

    @TempDir
    Path directory;

    private final Signer signer = Signer.withNewKey();
    private final Signer stranger = Signer.withNewKey();
    private Layout layout;
    private SignaturePolicy trust = SignaturePolicy.ANYBODY;
    private SignatureCheck check;

    @BeforeEach
    void cacheArchives() throws Exception {
        layout = new Layout(directory.resolve("state"), directory.resolve("run"), "instance");
        Files.createDirectories(layout.archives());
        Files.write(layout.archive(SHA256), ARCHIVE);
        Files.write(layout.archive(UNVERIFIED), ARCHIVE);
        new ArchiveStore(layout, new LocalDisk()).note(UNVERIFIED, SHA256);
        check = new SignatureCheck(layout, () -> trust);
    }

    @Test
    void whatATrustedKeyHasSignedMayBeUnpackedWhetherItsChecksumWasDeclaredOrNot() throws Exception {
        trust = new SignaturePolicy(true, keysOf(signer));

        assertDoesNotThrow(() -> check(SHA256, signer.sign(SHA256)));
        assertDoesNotThrow(() -> check(UNVERIFIED, signer.sign(SHA256)));
    }

    @Test
    void whatAStrangerHasSignedMayNot() throws Exception {
        trust = new SignaturePolicy(false, keysOf(signer));

        String refusal = refusal(SHA256, stranger.sign(SHA256));

        assertEquals(
                "the archive of revision 7 of process/p was not unpacked: source.signature is not a signature of its SHA-256 by"
                        + " any of signatures.keys; sign it anew, or configure the key that it was signed with",
                refusal);
        assertTrue(Files.exists(layout.archive(SHA256)), "the archive is the declared one: another key may be right");
    }

    @Test
    void anArchiveThatMayBeAnotherOneTomorrowIsForgotten() throws Exception {
        trust = new SignaturePolicy(false, keysOf(signer));

        String _ = refusal(UNVERIFIED, stranger.sign(SHA256));

        assertFalse(Files.exists(layout.archive(UNVERIFIED)));
    }

    @Test
    void aSignatureHasToBeThereOnlyWhereItIsRequired() throws Exception {
        trust = new SignaturePolicy(true, keysOf(signer));
        assertEquals(
                "the archive of revision 7 of process/p was not unpacked: it is not signed, and signatures are required here;"
                        + " declare source.signature",
                refusal(SHA256, null));

        trust = new SignaturePolicy(false, keysOf(signer));
        assertDoesNotThrow(() -> check(SHA256, null));
    }

    @Test
    void withoutKeysNothingCanBeChecked() {
        assertDoesNotThrow(() -> check(SHA256, stranger.sign(SHA256)));
    }

    @Test
    void whatMayBeUnpackedIsKnownBeforeItIsThere() throws Exception {
        assertTrue(check.accepts(SHA256, stranger.sign(SHA256)));
        assertTrue(check.accepts(SHA256, null));

        trust = new SignaturePolicy(true, keysOf(signer));
        assertTrue(check.accepts(SHA256, signer.sign(SHA256)));
        assertFalse(check.accepts(SHA256, stranger.sign(SHA256)));
        assertFalse(check.accepts(SHA256, null));
    }

    private void check(String key, @Nullable String signature) throws ActuationFailure {
        check.check(ID, "7", key, signature);
    }

    private String refusal(String key, @Nullable String signature) {
        ActuationFailure failure = assertThrows(ActuationFailure.class, () -> check(key, signature));
        assertFalse(failure.fatal(), "keys are configured anew without a new declaration");
        return String.valueOf(failure.getMessage());
    }

    private TrustedKeys keysOf(Signer whose) throws Exception {
        return TrustedKeys.read(
                List.of(Files.writeString(directory.resolve("key.pem"), whose.publicKeyPem())), "signatures.keys");
    }
}
