package io.homeostat.actuate.archive;

import static java.nio.charset.StandardCharsets.US_ASCII;

import com.google.common.io.BaseEncoding;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.Disk;
import io.homeostat.desired.state.history.FailureCause;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.PrivateKey;
import java.security.Signature;
import java.security.spec.InvalidKeySpecException;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** A private key (Ed25519, RFC 8032) that signs archives; those who trust it have its other half in {@link TrustedKeys}. */
public final class SigningKey {
    private static final String ALGORITHM = "Ed25519";
    /** RFC 7468. */
    private static final Pattern PEM =
            Pattern.compile("-----BEGIN PRIVATE KEY-----([A-Za-z0-9+/=\\s]*)-----END PRIVATE KEY-----");

    private static final int LONGEST_FILE = 1 << 16;

    private final PrivateKey key;

    private SigningKey(PrivateKey key) {
        this.key = key;
    }

    /**
     * Reads a PEM file (PKCS #8) without a password.
     *
     * @throws ActuationFailure when it can't be read or is no such key; the message has nothing of it
     */
    public static SigningKey read(Path file) throws ActuationFailure {
        try {
            if (Files.size(file) > LONGEST_FILE) {
                throw unusable(file + ": it is too long for a key", null);
            }
            String text = Files.readString(file, US_ASCII);
            if (text.contains("-----BEGIN ENCRYPTED PRIVATE KEY-----")) {
                throw unusable(
                        file + ": it is protected by a password; write it without one (openssl pkey -in ...)", null);
            }
            Matcher pem = PEM.matcher(text);
            if (!pem.find()) {
                throw unusable(
                        file
                                + ": it has no line '-----BEGIN PRIVATE KEY-----'; give it a private key in PEM, as openssl"
                                + " genpkey -algorithm ed25519 makes them",
                        null);
            }
            byte[] encoded = Base64.getMimeDecoder().decode(pem.group(1));
            return new SigningKey(KeyFactory.getInstance(ALGORITHM).generatePrivate(new PKCS8EncodedKeySpec(encoded)));
        } catch (IOException e) {
            throw unusable(Disk.reason(e), e);
        } catch (InvalidKeySpecException | IllegalArgumentException e) {
            // What they say may quote the key.
            throw unusable(file + ": it is no Ed25519 key in PEM", null);
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("every JDK since 15 has " + ALGORITHM, e);
        }
    }

    /** A signature of the 32 bytes of an archive's SHA-256, in base64. */
    public String sign(String sha256) {
        try {
            Signature signature = Signature.getInstance(ALGORITHM);
            signature.initSign(key);
            signature.update(BaseEncoding.base16().lowerCase().decode(sha256));
            return Base64.getEncoder().encodeToString(signature.sign());
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("this Ed25519 key can't sign", e);
        }
    }

    private static ActuationFailure unusable(String why, @Nullable Exception cause) {
        return new ActuationFailure(
                ActuationFailure.causeOf(cause, FailureCause.Kind.SIGNATURE),
                "cannot use the key: " + why,
                true,
                cause);
    }
}
