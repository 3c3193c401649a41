package io.homeostat.desired.signature;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.yaml.IoReason;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Base64;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A file with keys as text (RFC 7468); other words may stand around them.
 *
 * @param what it can't be used as, for failures: {@code the key}
 */
record Pem(Path file, String what) {
    private static final int LONGEST_FILE = 1 << 20;
    /** An ASN.1 SEQUENCE. */
    private static final String DER = "0";

    /**
     * What is between the lines with a label, decoded; at least one.
     *
     * @param label such as PUBLIC KEY
     * @param toPem the command that makes such a file of one in DER
     * @throws IllegalArgumentException when it is not base64; may quote what is there
     */
    ImmutableList<byte[]> read(String label, String toPem) throws KeyFailure {
        String text;
        try {
            if (Files.size(file) > LONGEST_FILE) {
                throw unusable("it is too long for a file with keys");
            }
            // What stands around keys may be in any character set.
            text = Files.readString(file, ISO_8859_1);
        } catch (NoSuchFileException e) {
            throw unreadable("no such file or directory", e);
        } catch (IOException e) {
            throw unreadable(IoReason.of(e), e);
        }
        if (text.contains("-----BEGIN ENCRYPTED " + label + "-----")) {
            throw unusable("it is protected by a password; write it without one (openssl pkey -in ...)");
        }
        Matcher pem = Pattern.compile("-----BEGIN " + label + "-----([A-Za-z0-9+/=\\s]*)-----END " + label + "-----")
                .matcher(text);
        ImmutableList<byte[]> found = pem.results()
                .map(block -> Base64.getMimeDecoder().decode(block.group(1)))
                .collect(ImmutableList.toImmutableList());
        if (found.isEmpty() && text.startsWith(DER)) {
            throw unusable("it is no text, but perhaps DER; make PEM of it: " + toPem);
        }
        if (found.isEmpty()) {
            throw unusable("it has no line '-----BEGIN " + label + "-----'; give it a " + label.toLowerCase(Locale.ROOT)
                    + " in PEM");
        }
        return found;
    }

    KeyFailure unusable(String why) {
        return new KeyFailure("cannot use " + what + ": " + file + ": " + why, null);
    }

    private KeyFailure unreadable(String why, IOException cause) {
        return new KeyFailure("cannot use " + what + ": " + file + ": " + why, cause);
    }
}
