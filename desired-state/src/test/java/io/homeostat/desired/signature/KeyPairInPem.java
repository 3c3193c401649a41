package io.homeostat.desired.signature;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.spec.RSAKeyGenParameterSpec;
import java.security.spec.RSAPublicKeySpec;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.stream.Collectors;

/** Both halves of a new Ed25519 key, as openssl writes them. */
public record KeyPairInPem(String privateKeyPem, String publicKeyPem) {
    public static KeyPairInPem withNewKey() {
        try {
            KeyPair keys = KeyPairGenerator.getInstance("Ed25519").generateKeyPair();
            return new KeyPairInPem(
                    pem("PRIVATE KEY", keys.getPrivate().getEncoded()),
                    pem("PUBLIC KEY", keys.getPublic().getEncoded()));
        } catch (GeneralSecurityException e) {
            throw new AssertionError(e);
        }
    }

    /** Nobody has the private one, and to make a pair takes seconds. */
    static String rsaPublicKeyPem() {
        BigInteger modulus = BigInteger.TWO.pow(2048).subtract(BigInteger.ONE);
        try {
            return pem(
                    "PUBLIC KEY",
                    KeyFactory.getInstance("RSA")
                            .generatePublic(new RSAPublicKeySpec(modulus, RSAKeyGenParameterSpec.F4))
                            .getEncoded());
        } catch (GeneralSecurityException e) {
            throw new AssertionError(e);
        }
    }

    /** The half that signs. */
    public SigningKey signing() {
        return read(privateKeyPem, SigningKey::read);
    }

    /** The other half of each of them. */
    public static TrustedKeys trusted(KeyPairInPem... trusted) {
        String all = Arrays.stream(trusted).map(KeyPairInPem::publicKeyPem).collect(Collectors.joining());
        return read(all, file -> TrustedKeys.read(List.of(file), "signatures.documents.keys"));
    }

    String sign(String sha256) {
        return signing().sign(sha256);
    }

    private static <T> T read(String pem, KeyReader<T> reader) {
        try {
            Path file = Files.createTempFile("key", ".pem");
            try {
                return reader.read(Files.writeString(file, pem));
            } catch (KeyFailure e) {
                throw new AssertionError(e);
            } finally {
                Files.delete(file);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private interface KeyReader<T> {
        T read(Path file) throws KeyFailure;
    }

    private static String pem(String label, byte[] encoded) {
        String base64 = Base64.getMimeEncoder(64, "\n".getBytes(StandardCharsets.US_ASCII))
                .encodeToString(encoded);
        return "-----BEGIN " + label + "-----\n" + base64 + "\n-----END " + label + "-----\n";
    }
}
