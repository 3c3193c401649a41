package io.homeostat.desired.platform;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.google.common.io.BaseEncoding;
import com.google.common.primitives.Bytes;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyFactory;
import java.security.KeyPairGenerator;
import java.security.PrivateKey;
import java.security.interfaces.ECPrivateKey;
import java.security.spec.ECGenParameterSpec;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Arrays;
import java.util.Base64;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The forms in which private keys are written. */
public final class KeyPemTest {
    private static final int BYTES_OF_P256 = 32;
    /** Of a 2048 bit RSA key: what stands before the PKCS #1 form in the PKCS #8 form. */
    private static final int BEFORE_RSA = 26;

    @TempDir
    private Path directory;

    @Test
    void anRsaKeyInPkcs1IsTheSameKey() throws Exception {
        KeyPairGenerator generator = KeyPairGenerator.getInstance("RSA");
        generator.initialize(2048);
        PrivateKey key = generator.generateKeyPair().getPrivate();
        byte[] pkcs8 = key.getEncoded();

        assertEquals(key, read(pem("RSA PRIVATE KEY", Arrays.copyOfRange(pkcs8, BEFORE_RSA, pkcs8.length)), "RSA"));
        assertEquals(key, read(pem("PRIVATE KEY", pkcs8), "RSA"));
    }

    @Test
    void aKeyOnACurveInSec1IsTheSameKey() throws Exception {
        KeyPairGenerator generator = KeyPairGenerator.getInstance("EC");
        generator.initialize(new ECGenParameterSpec("secp256r1"));
        ECPrivateKey key = (ECPrivateKey) generator.generateKeyPair().getPrivate();

        // Before it openssl writes a block of its own with the name of the curve.
        String parameters = pem("EC PARAMETERS", BaseEncoding.base16().decode("06082A8648CE3D030107"));
        ECPrivateKey read = (ECPrivateKey) read(parameters + sec1(key), "EC");
        assertEquals(key.getS(), read.getS());
        assertEquals(key.getParams().toString(), read.getParams().toString());
    }

    @Test
    void whatIsNoKeyIsRefused() {
        for (String content : new String[] {"", "30", "3003020101", "30820101", "3006020101A00106"}) {
            assertThrows(
                    IllegalArgumentException.class,
                    () -> read(pem("EC PRIVATE KEY", BaseEncoding.base16().decode(content)), "EC"),
                    content);
        }
    }

    /** As RFC 5915 has it, on P-256. */
    public static String sec1(ECPrivateKey key) {
        byte[] number = key.getS().toByteArray();
        byte[] padded = new byte[BYTES_OF_P256];
        int length = Math.min(number.length, BYTES_OF_P256);
        System.arraycopy(number, number.length - length, padded, BYTES_OF_P256 - length, length);
        return pem(
                "EC PRIVATE KEY",
                Bytes.concat(
                        BaseEncoding.base16().decode("30310201010420"),
                        padded,
                        BaseEncoding.base16().decode("A00A06082A8648CE3D030107")));
    }

    private PrivateKey read(String pem, String algorithm) throws Exception {
        Path file = Files.writeString(directory.resolve("key.pem"), pem);
        String read = new String(KeyPem.pkcs8(file).readAllBytes(), StandardCharsets.US_ASCII);
        String base64 = read.replaceAll("-----[A-Z ]+-----", "");
        return KeyFactory.getInstance(algorithm)
                .generatePrivate(new PKCS8EncodedKeySpec(Base64.getMimeDecoder().decode(base64)));
    }

    private static String pem(String what, byte[] content) {
        return "-----BEGIN " + what + "-----\n" + Base64.getMimeEncoder().encodeToString(content) + "\n-----END " + what
                + "-----\n";
    }
}
