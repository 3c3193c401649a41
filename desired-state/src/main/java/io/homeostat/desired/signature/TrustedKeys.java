package io.homeostat.desired.signature;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.hash.Hashing;
import com.google.common.io.BaseEncoding;
import io.homeostat.desired.platform.TrustedPath;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.PublicKey;
import java.security.Signature;
import java.security.spec.InvalidKeySpecException;
import java.security.spec.X509EncodedKeySpec;
import java.util.Base64;
import java.util.List;
import java.util.Optional;

/** The public keys (Ed25519, RFC 8032) whose signatures are trusted. */
public final class TrustedKeys {
    public static final TrustedKeys NONE = new TrustedKeys(ImmutableList.of());

    private static final String ALGORITHM = "Ed25519";

    private final ImmutableList<PublicKey> keys;

    private TrustedKeys(ImmutableList<PublicKey> keys) {
        this.keys = keys;
    }

    static TrustedKeys of(PublicKey key) {
        return new TrustedKeys(ImmutableList.of(key));
    }

    /**
     * Reads PEM files with at least one key each.
     *
     * @param setting where the files are named, for failures: {@code signatures.keys}
     * @throws KeyFailure when one of them cannot be read or contains anything else, or others can change whom root believes
     */
    public static TrustedKeys read(List<Path> files, String setting) throws KeyFailure {
        ImmutableList.Builder<PublicKey> keys = ImmutableList.builder();
        for (Path file : files) {
            Pem pem = new Pem(file, "what " + setting + " names");
            Optional<TrustedPath.Objection> objection = TrustedPath.objectionOfRoot(file);
            if (objection.isPresent()) {
                throw pem.unusable(objection.get().ofConfiguration());
            }
            keys.addAll(read(pem));
        }
        return new TrustedKeys(keys.build());
    }

    private static ImmutableList<PublicKey> read(Pem pem) throws KeyFailure {
        try {
            ImmutableList.Builder<PublicKey> found = ImmutableList.builder();
            for (byte[] encoded :
                    pem.read("PUBLIC KEY", "openssl pkey -pubin -inform DER -in " + pem.file() + " -out key.pem")) {
                found.add(factory().generatePublic(new X509EncodedKeySpec(encoded)));
            }
            return found.build();
        } catch (InvalidKeySpecException | IllegalArgumentException e) {
            throw pem.unusable("it has a public key that is not an Ed25519 key in PEM");
        }
    }

    private static KeyFactory factory() {
        try {
            return KeyFactory.getInstance(ALGORITHM);
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("every JDK since 15 has " + ALGORITHM, e);
        }
    }

    public boolean isEmpty() {
        return keys.isEmpty();
    }

    /** Whether one of these keys made a signature, in base64, of the 32 bytes of an archive's SHA-256. */
    public boolean signed(String sha256, String signature) {
        byte[] digest = BaseEncoding.base16().lowerCase().decode(sha256);
        byte[] bytes = Base64.getDecoder().decode(signature);
        return signer(digest, bytes).isPresent();
    }

    /** The id of the key that made a signature of these bytes; empty when none of these did. */
    public Optional<String> signer(byte[] message, byte[] signature) {
        return keys.stream()
                .filter(key -> signed(key, message, signature))
                .map(TrustedKeys::id)
                .findFirst();
    }

    /** The ids of all of them: the SHA-256 of what a PEM file has of a key. */
    public ImmutableSet<String> ids() {
        return keys.stream().map(TrustedKeys::id).collect(ImmutableSet.toImmutableSet());
    }

    static String id(PublicKey key) {
        return Hashing.sha256().hashBytes(key.getEncoded()).toString();
    }

    private static boolean signed(PublicKey key, byte[] message, byte[] signature) {
        try {
            Signature check = Signature.getInstance(ALGORITHM);
            check.initVerify(key);
            check.update(message);
            return check.verify(signature);
        } catch (GeneralSecurityException e) {
            // This is how the JDK says that these bytes are no signature at all.
            return false;
        }
    }
}
