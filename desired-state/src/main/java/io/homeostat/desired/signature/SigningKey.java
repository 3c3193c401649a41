package io.homeostat.desired.signature;

import com.google.common.io.BaseEncoding;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyPairGenerator;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.SecureRandom;
import java.security.Signature;
import java.security.interfaces.EdECPrivateKey;
import java.security.spec.InvalidKeySpecException;
import java.security.spec.NamedParameterSpec;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;

/** A private key (Ed25519, RFC 8032) that signs; those who trust it have its other half in {@link TrustedKeys}. */
public final class SigningKey {
    private static final String ALGORITHM = "Ed25519";

    private final PrivateKey key;

    private SigningKey(PrivateKey key) {
        this.key = key;
    }

    /**
     * Reads a PEM file (PKCS #8) without a password.
     *
     * @throws KeyFailure when it can't be read or is no such key
     */
    public static SigningKey read(Path file) throws KeyFailure {
        Pem pem = new Pem(file, "the key");
        try {
            byte[] encoded = pem.read("PRIVATE KEY", "openssl pkey -inform DER -in " + file + " -out key.pem")
                    .getFirst();
            return new SigningKey(KeyFactory.getInstance(ALGORITHM).generatePrivate(new PKCS8EncodedKeySpec(encoded)));
        } catch (InvalidKeySpecException | IllegalArgumentException e) {
            // What they say may quote the key.
            throw pem.unusable("it is no Ed25519 key in PEM; openssl genpkey -algorithm ed25519 makes one");
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("every JDK since 15 has " + ALGORITHM, e);
        }
    }

    /** The id of its other half, see {@link TrustedKeys#ids}. */
    public String id() {
        return TrustedKeys.id(other());
    }

    /** Its other half, as the only one that is trusted. */
    public TrustedKeys trusted() {
        return TrustedKeys.of(other());
    }

    private PublicKey other() {
        byte[] seed = ((EdECPrivateKey) key).getBytes().orElseThrow();
        try {
            // The JDK has no other way from a private key to its public one than to make the pair anew, of the same
            // random bytes.
            KeyPairGenerator generator = KeyPairGenerator.getInstance(ALGORITHM);
            generator.initialize(NamedParameterSpec.ED25519, new SameBytes(seed));
            return generator.generateKeyPair().getPublic();
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("every JDK since 15 has " + ALGORITHM, e);
        }
    }

    /** A signature of the 32 bytes of an archive's SHA-256, in base64. */
    public String sign(String sha256) {
        return Base64.getEncoder()
                .encodeToString(sign(BaseEncoding.base16().lowerCase().decode(sha256)));
    }

    /** A signature of these bytes. */
    public byte[] sign(byte[] message) {
        try {
            Signature signature = Signature.getInstance(ALGORITHM);
            signature.initSign(key);
            signature.update(message);
            return signature.sign();
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("this Ed25519 key can't sign", e);
        }
    }

    private static final class SameBytes extends SecureRandom {
        private static final long serialVersionUID = 1L;

        private final byte[] bytes;

        SameBytes(byte[] bytes) {
            this.bytes = bytes;
        }

        @Override
        public void nextBytes(byte[] into) {
            System.arraycopy(bytes, 0, into, 0, into.length);
        }
    }
}
