package io.homeostat.controlplane;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.PrivateKey;
import java.security.SecureRandom;
import java.security.Signature;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.ECGenParameterSpec;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Base64;
import javax.security.auth.x500.X500Principal;

/**
 * A certificate authority for one test: EC keys on P-256, valid from an hour ago. The JDK reads certificates but can't make them, so they
 * are encoded here, field by field (RFC 5280, 4.1).
 */
public final class TestAuthority {
    private static final Duration VALID = Duration.ofDays(1);
    private static final Duration LATE_CLOCKS = Duration.ofHours(1);
    private static final byte[] ECDSA_WITH_SHA256 =
            Der.sequence(Der.oid(0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03, 0x02));
    private static final byte[] BASIC_CONSTRAINTS = Der.oid(0x55, 0x1D, 0x13);
    private static final byte[] SUBJECT_ALT_NAME = Der.oid(0x55, 0x1D, 0x11);
    private static final int DNS_NAME = 2;
    private static final int IP_ADDRESS = 7;

    private final X500Principal name;
    private final KeyPair keys;
    private final X509Certificate certificate;

    /** A new authority that nobody knows. */
    public TestAuthority(String commonName) {
        name = new X500Principal("CN=" + commonName);
        keys = newKeys();
        certificate = sign(
                name,
                keys,
                Instant.now().plus(VALID),
                Der.sequence(BASIC_CONSTRAINTS, Der.bool(true), Der.octets(Der.sequence(Der.bool(true)))));
    }

    /** A certificate with its private key. */
    public record Issued(X509Certificate certificate, PrivateKey key) {
        /** Writes the certificate as PEM. */
        public Path writeCertificate(Path file) throws IOException {
            return write(file, "CERTIFICATE", encoded(certificate));
        }

        /** Writes the private key as PEM (PKCS #8). */
        public Path writeKey(Path file) throws IOException {
            return write(file, "PRIVATE KEY", key.getEncoded());
        }
    }

    /** The authority's own certificate. */
    public X509Certificate certificate() {
        return certificate;
    }

    /** Writes the authority's own certificate as PEM. */
    public Path writeCertificate(Path file) throws IOException {
        return write(file, "CERTIFICATE", encoded(certificate));
    }

    /** A certificate for {@code localhost} and 127.0.0.1, or for a client on it. */
    public Issued issue(String commonName) {
        return issue(commonName, Instant.now().plus(VALID));
    }

    /** The same, valid until then, also in the past. */
    public Issued issue(String commonName, Instant until) {
        KeyPair pair = newKeys();
        byte[] names = Der.sequence(
                Der.tagged(DNS_NAME, "localhost".getBytes(StandardCharsets.US_ASCII)),
                Der.tagged(IP_ADDRESS, new byte[] {127, 0, 0, 1}));
        return new Issued(
                sign(
                        new X500Principal("CN=" + commonName),
                        pair,
                        until,
                        Der.sequence(SUBJECT_ALT_NAME, Der.octets(names))),
                pair.getPrivate());
    }

    private X509Certificate sign(X500Principal subject, KeyPair pair, Instant until, byte[] extension) {
        byte[] content = Der.sequence(
                Der.explicit(0, Der.integer(2)),
                Der.integer(new SecureRandom().nextInt(1, Integer.MAX_VALUE)),
                ECDSA_WITH_SHA256,
                name.getEncoded(),
                Der.sequence(Der.time(until.minus(VALID).minus(LATE_CLOCKS)), Der.time(until)),
                subject.getEncoded(),
                pair.getPublic().getEncoded(),
                Der.explicit(3, Der.sequence(extension)));
        try {
            Signature signature = Signature.getInstance("SHA256withECDSA");
            signature.initSign(keys.getPrivate());
            signature.update(content);
            byte[] signed = Der.sequence(content, ECDSA_WITH_SHA256, Der.bits(signature.sign()));
            return (X509Certificate)
                    CertificateFactory.getInstance("X.509").generateCertificate(new ByteArrayInputStream(signed));
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("could not sign a certificate for " + subject, e);
        }
    }

    private static KeyPair newKeys() {
        try {
            KeyPairGenerator generator = KeyPairGenerator.getInstance("EC");
            generator.initialize(new ECGenParameterSpec("secp256r1"));
            return generator.generateKeyPair();
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("could not make a key on P-256", e);
        }
    }

    private static byte[] encoded(X509Certificate certificate) {
        try {
            return certificate.getEncoded();
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("could not encode a certificate", e);
        }
    }

    private static Path write(Path file, String what, byte[] content) throws IOException {
        String base64 = Base64.getMimeEncoder().encodeToString(content);
        return Files.writeString(file, "-----BEGIN " + what + "-----\n" + base64 + "\n-----END " + what + "-----\n");
    }

    /** The few encodings of X.690 that a certificate needs. */
    private static final class Der {
        private static final DateTimeFormatter GENERALIZED_TIME =
                DateTimeFormatter.ofPattern("yyyyMMddHHmmss'Z'").withZone(ZoneOffset.UTC);
        private static final DateTimeFormatter UTC_TIME =
                DateTimeFormatter.ofPattern("yyMMddHHmmss'Z'").withZone(ZoneOffset.UTC);
        private static final Instant YEAR_2050 = Instant.parse("2050-01-01T00:00:00Z");
        private static final int SHORT_LENGTH = 0x80;

        private Der() {}

        static byte[] sequence(byte[]... parts) {
            ByteArrayOutputStream content = new ByteArrayOutputStream();
            for (byte[] part : parts) {
                content.writeBytes(part);
            }
            return element(0x30, content.toByteArray());
        }

        static byte[] integer(long value) {
            return element(0x02, BigInteger.valueOf(value).toByteArray());
        }

        static byte[] bool(boolean value) {
            return element(0x01, (byte) (value ? 0xFF : 0));
        }

        static byte[] octets(byte[] content) {
            return element(0x04, content);
        }

        static byte[] bits(byte[] content) {
            byte[] padded = new byte[content.length + 1];
            System.arraycopy(content, 0, padded, 1, content.length);
            return element(0x03, padded);
        }

        /** An object identifier, its content already encoded. */
        static byte[] oid(int... content) {
            byte[] bytes = new byte[content.length];
            for (int i = 0; i < content.length; i++) {
                bytes[i] = (byte) content[i];
            }
            return element(0x06, bytes);
        }

        /** UTCTime before 2050, as RFC 5280 wants it, else GeneralizedTime. */
        static byte[] time(Instant instant) {
            return instant.isBefore(YEAR_2050)
                    ? element(0x17, UTC_TIME.format(instant).getBytes(StandardCharsets.US_ASCII))
                    : element(0x18, GENERALIZED_TIME.format(instant).getBytes(StandardCharsets.US_ASCII));
        }

        /** A context-specific tag in the place of the content's own. */
        static byte[] tagged(int tag, byte[] content) {
            return element(0x80 | tag, content);
        }

        /** A context-specific tag around an element. */
        static byte[] explicit(int tag, byte[] element) {
            return element(0xA0 | tag, element);
        }

        private static byte[] element(int tag, byte... content) {
            ByteArrayOutputStream element = new ByteArrayOutputStream();
            element.write(tag);
            if (content.length < SHORT_LENGTH) {
                element.write(content.length);
            } else {
                byte[] length = BigInteger.valueOf(content.length).toByteArray();
                int skip = length[0] == 0 ? 1 : 0;
                element.write(SHORT_LENGTH | (length.length - skip));
                element.write(length, skip, length.length - skip);
            }
            element.writeBytes(content);
            return element.toByteArray();
        }
    }
}
