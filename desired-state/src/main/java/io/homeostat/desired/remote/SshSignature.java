package io.homeostat.desired.remote;

import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableSet;
import com.google.protobuf.ByteString;
import io.homeostat.desired.platform.TrustedPath;
import java.io.IOException;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.MessageDigest;
import java.security.PublicKey;
import java.security.Signature;
import java.security.spec.X509EncodedKeySpec;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A signature as {@code ssh-keygen -Y sign} makes it (OpenSSH, PROTOCOL.sshsig), by an Ed25519 key.
 *
 * @param key of whoever signed, as it stands in base64 in authorized_keys
 */
record SshSignature(ByteString key, String namespace, String hash, ByteString signature) {
    private static final String ALGORITHM = "ssh-ed25519";
    private static final byte[] MAGIC = "SSHSIG".getBytes(StandardCharsets.US_ASCII);
    private static final int VERSION = 1;
    private static final Pattern ARMORED =
            Pattern.compile("-----BEGIN SSH SIGNATURE-----([A-Za-z0-9+/=\\s]+)-----END SSH SIGNATURE-----\\s*");

    /** What stands before the 32 bytes of an Ed25519 key in a SubjectPublicKeyInfo (RFC 8410). */
    private static final byte[] KEY_HEADER = HexFormat.of().parseHex("302a300506032b6570032100");

    /** @throws IllegalArgumentException when it is no such signature; the message says what it is */
    static SshSignature parse(String armored) {
        Matcher text = ARMORED.matcher(armored);
        if (!text.matches()) {
            throw new IllegalArgumentException("it is not signed with an SSH key");
        }
        try {
            ByteBuffer blob = ByteBuffer.wrap(Base64.getMimeDecoder().decode(text.group(1)));
            byte[] magic = new byte[MAGIC.length];
            blob.get(magic);
            if (!MessageDigest.isEqual(magic, MAGIC) || blob.getInt() != VERSION) {
                throw new IllegalArgumentException("its signature is damaged");
            }
            ByteString key = ByteString.copyFrom(string(blob));
            String namespace = text(blob);
            string(blob);
            String hash = text(blob);
            ByteBuffer signature = ByteBuffer.wrap(string(blob));
            String algorithm = text(signature);
            if (!algorithm.equals(ALGORITHM)) {
                throw new IllegalArgumentException("it is signed with a key of the kind " + algorithm);
            }
            return new SshSignature(key, namespace, hash, ByteString.copyFrom(string(signature)));
        } catch (BufferUnderflowException e) {
            throw new IllegalArgumentException("its signature is damaged", e);
        }
    }

    /** Whether it is a good one of this message, for this purpose. */
    boolean isOf(byte[] message, String purpose) {
        if (!namespace.equals(purpose)) {
            return false;
        }
        try {
            String digest = switch (hash) {
                case "sha512" -> "SHA-512";
                case "sha256" -> "SHA-256";
                default -> throw new GeneralSecurityException("hash " + hash);
            };
            byte[] hashed = MessageDigest.getInstance(digest).digest(message);
            Signature check = Signature.getInstance("Ed25519");
            check.initVerify(publicKey());
            check.update(MAGIC);
            for (byte[] part : List.of(
                    namespace.getBytes(StandardCharsets.UTF_8),
                    new byte[0],
                    hash.getBytes(StandardCharsets.UTF_8),
                    hashed)) {
                check.update(
                        ByteBuffer.allocate(Integer.BYTES).putInt(part.length).flip());
                check.update(part);
            }
            return check.verify(signature.toByteArray());
        } catch (GeneralSecurityException | BufferUnderflowException e) {
            return false;
        }
    }

    private PublicKey publicKey() throws GeneralSecurityException {
        ByteBuffer blob = key.asReadOnlyByteBuffer();
        if (!text(blob).equals(ALGORITHM)) {
            throw new GeneralSecurityException("another kind of key");
        }
        byte[] raw = string(blob);
        byte[] encoded = ByteBuffer.allocate(KEY_HEADER.length + raw.length)
                .put(KEY_HEADER)
                .put(raw)
                .array();
        return KeyFactory.getInstance("Ed25519").generatePublic(new X509EncodedKeySpec(encoded));
    }

    /**
     * The keys in files with one a line, as authorized_keys has them.
     *
     * @throws FetchFailure when a file can't be read, or has something else, or others can change whom root believes
     */
    static ImmutableSet<ByteString> keys(List<String> files, String setting) throws FetchFailure {
        ImmutableSet.Builder<ByteString> keys = ImmutableSet.builder();
        for (String file : files) {
            for (String line : lines(file, setting)) {
                if (!line.isBlank() && !line.startsWith("#")) {
                    keys.add(key(line, file, setting));
                }
            }
        }
        return keys.build();
    }

    private static List<String> lines(String file, String setting) throws FetchFailure {
        Optional<TrustedPath.Objection> objection = TrustedPath.objectionOfRoot(Path.of(file));
        if (objection.isPresent()) {
            throw new FetchFailure("could not use " + file + " (" + setting + "): "
                    + objection.get().ofConfiguration());
        }
        try {
            return Files.readAllLines(Path.of(file));
        } catch (IOException e) {
            throw new FetchFailure(
                    "could not read " + file + " (" + setting + "); it has to be there, readable for the agent", e);
        }
    }

    private static ByteString key(String line, String file, String setting) throws FetchFailure {
        List<String> words = Splitter.on(' ').omitEmptyStrings().splitToList(line.strip());
        try {
            if (words.size() >= 2 && words.getFirst().equals(ALGORITHM)) {
                return ByteString.copyFrom(Base64.getDecoder().decode(words.get(1)));
            }
        } catch (IllegalArgumentException e) {
            throw new FetchFailure(file + " (" + setting + ") has a key that is not base64; copy it again", e);
        }
        throw new FetchFailure(
                file + " (" + setting + ") has a line that is no Ed25519 key; write 'ssh-ed25519 KEY' on each");
    }

    private static byte[] string(ByteBuffer from) {
        int length = from.getInt();
        if (length < 0 || length > from.remaining()) {
            throw new BufferUnderflowException();
        }
        byte[] bytes = new byte[length];
        from.get(bytes);
        return bytes;
    }

    private static String text(ByteBuffer from) {
        return new String(string(from), StandardCharsets.UTF_8);
    }
}
