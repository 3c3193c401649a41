package io.homeostat.actuate.archive;

import com.google.common.io.BaseEncoding;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.PublicKey;
import java.security.Signature;
import java.security.spec.RSAKeyGenParameterSpec;
import java.security.spec.RSAPublicKeySpec;
import java.util.Base64;

/** Somebody who signs archives. */
record Signer(KeyPair keys) {
    static Signer withNewKey() {
        try {
            return new Signer(KeyPairGenerator.getInstance("Ed25519").generateKeyPair());
        } catch (GeneralSecurityException e) {
            throw new AssertionError(e);
        }
    }

    String publicKeyPem() {
        return pem(keys.getPublic());
    }

    /** Nobody has the private one, and to make a pair takes seconds. */
    static String rsaPublicKeyPem() {
        BigInteger modulus = BigInteger.TWO.pow(2048).subtract(BigInteger.ONE);
        try {
            return pem(KeyFactory.getInstance("RSA")
                    .generatePublic(new RSAPublicKeySpec(modulus, RSAKeyGenParameterSpec.F4)));
        } catch (GeneralSecurityException e) {
            throw new AssertionError(e);
        }
    }

    String sign(String sha256) {
        try {
            Signature signature = Signature.getInstance("Ed25519");
            signature.initSign(keys.getPrivate());
            signature.update(BaseEncoding.base16().lowerCase().decode(sha256));
            return Base64.getEncoder().encodeToString(signature.sign());
        } catch (GeneralSecurityException e) {
            throw new AssertionError(e);
        }
    }

    private static String pem(PublicKey key) {
        String base64 = Base64.getMimeEncoder(64, "\n".getBytes(StandardCharsets.US_ASCII))
                .encodeToString(key.getEncoded());
        return "-----BEGIN PUBLIC KEY-----\n" + base64 + "\n-----END PUBLIC KEY-----\n";
    }
}
