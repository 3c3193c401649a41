package io.homeostat.desired.signature;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.homeostat.desired.platform.TrustedPath;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TrustedKeysTest {
    private static final String SHA256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

    @TempDir
    Path directory;

    private KeyPairInPem signer;
    private KeyPairInPem other;

    @BeforeEach
    void makeKeys() {
        signer = KeyPairInPem.withNewKey();
        other = KeyPairInPem.withNewKey();
    }

    @Test
    void aSignatureIsGoodWhenOneOfTheKeysMadeIt() throws Exception {
        Path old = Files.writeString(directory.resolve("old.pem"), signer.publicKeyPem());
        Path next = Files.writeString(directory.resolve("next.pem"), other.publicKeyPem());
        String signature = signer.sign(SHA256);

        assertTrue(TrustedKeys.read(List.of(old), "signatures.keys").signed(SHA256, signature));
        assertTrue(
                TrustedKeys.read(List.of(next, old), "signatures.keys").signed(SHA256, signature),
                "while keys are exchanged");
        assertFalse(TrustedKeys.read(List.of(next), "signatures.keys").signed(SHA256, signature));
        assertFalse(TrustedKeys.NONE.signed(SHA256, signature));
    }

    @Test
    void aFileMayHoldSeveralKeysAndWordsAboutThem() throws Exception {
        Path both = Files.writeString(
                directory.resolve("both.pem"),
                "\uFEFFunsere Schlüssel\n" + other.publicKeyPem() + "the old one, until June\n"
                        + signer.publicKeyPem());

        assertTrue(TrustedKeys.read(List.of(both), "signatures.keys").signed(SHA256, signer.sign(SHA256)));
    }

    @Test
    void aSignatureOfSomethingElseIsNotGood() throws Exception {
        TrustedKeys keys = TrustedKeys.read(
                List.of(Files.writeString(directory.resolve("k"), signer.publicKeyPem())), "signatures.keys");

        assertFalse(keys.signed(SHA256, signer.sign("0".repeat(64))));
        assertFalse(keys.signed(SHA256, "A".repeat(86) + "=="));
        assertFalse(keys.signed(SHA256, "/".repeat(85) + "w=="), "not even a point on the curve");
    }

    @Test
    void aFileThatHasNoUsableKeyIsNamed() throws IOException {
        String noKey = "it has a public key that is not an Ed25519 key in PEM";
        assertRefused(directory.resolve("missing"), "no such file or directory");
        assertRefused(
                Files.writeString(directory.resolve("empty"), ""),
                "it has no line '-----BEGIN PUBLIC KEY-----';" + " give it a public key in PEM");
        assertRefused(
                Files.writeString(
                        directory.resolve("garbage"), "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"),
                noKey);
        assertRefused(Files.writeString(directory.resolve("rsa"), KeyPairInPem.rsaPublicKeyPem()), noKey);
        assertRefused(
                Files.write(directory.resolve("huge"), new byte[(1 << 20) + 1]), "it is too long for a file with keys");
    }

    @Test
    void aKeyInDerIsNamedWithTheCommandThatMakesPemOfIt() throws IOException {
        Path key = Files.write(directory.resolve("key.der"), new byte[] {0x30, (byte) 0x82, 1});
        assertRefused(
                key,
                "it is no text, but perhaps DER; make PEM of it: openssl pkey -pubin -inform DER -in " + key
                        + " -out key.pem");
        KeyFailure failure = assertThrows(KeyFailure.class, () -> SigningKey.read(key));
        String message = String.valueOf(failure.getMessage());
        assertTrue(message.startsWith("cannot use the key: " + key + ": "), message);
        assertTrue(message.endsWith(" openssl pkey -inform DER -in " + key + " -out key.pem"), message);
    }

    @Test
    void keysThatOthersCanChangeAreNotTrustedByRoot() throws Exception {
        assumeTrue(TrustedPath.isRoot(), "an ordinary user has no objection");
        Path key = Files.writeString(directory.resolve("key.pem"), signer.publicKeyPem());
        Files.setPosixFilePermissions(key, PosixFilePermissions.fromString("rw-rw-rw-"));

        assertRefused(
                key,
                "root goes by it, and " + key
                        + " may be written to by everybody; look at what is in it, then chmod go-w " + key);
    }

    private static void assertRefused(Path file, String reason) {
        KeyFailure failure = assertThrows(KeyFailure.class, () -> TrustedKeys.read(List.of(file), "signatures.keys"));
        assertEquals("cannot use what signatures.keys names: " + file + ": " + reason, failure.getMessage());
    }
}
