package io.homeostat.actuate.archive;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import com.google.common.collect.ImmutableList;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.Disk;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.Locale;
import java.util.function.BiFunction;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Files with keys as text (RFC 7468); other words may stand around them. */
final class Pem {
    private static final int LONGEST_FILE = 1 << 20;
    /** An ASN.1 SEQUENCE. */
    private static final String DER = "0";

    private Pem() {}

    /**
     * What is between the lines with a label, decoded; at least one.
     *
     * @param label such as PUBLIC KEY
     * @param toPem the command that makes such a file of one in DER
     * @param unusable makes a failure of the reason, which has nothing of the file's content
     * @throws IllegalArgumentException when it is not base64; may quote what is there
     */
    static ImmutableList<byte[]> read(
            Path file, String label, String toPem, BiFunction<String, @Nullable Exception, ActuationFailure> unusable)
            throws ActuationFailure {
        String text;
        try {
            if (Files.size(file) > LONGEST_FILE) {
                throw unusable.apply(file + ": it is too long for a file with keys", null);
            }
            // What stands around keys may be in any character set.
            text = Files.readString(file, ISO_8859_1);
        } catch (IOException e) {
            throw unusable.apply(Disk.reason(e), e);
        }
        if (text.contains("-----BEGIN ENCRYPTED " + label + "-----")) {
            throw unusable.apply(
                    file + ": it is protected by a password; write it without one (openssl pkey -in ...)", null);
        }
        Matcher pem = Pattern.compile("-----BEGIN " + label + "-----([A-Za-z0-9+/=\\s]*)-----END " + label + "-----")
                .matcher(text);
        ImmutableList<byte[]> found = pem.results()
                .map(block -> Base64.getMimeDecoder().decode(block.group(1)))
                .collect(ImmutableList.toImmutableList());
        if (found.isEmpty() && text.startsWith(DER)) {
            throw unusable.apply(file + ": it is no text, but perhaps DER; make PEM of it: " + toPem, null);
        }
        if (found.isEmpty()) {
            throw unusable.apply(
                    file + ": it has no line '-----BEGIN " + label + "-----'; give it a "
                            + label.toLowerCase(Locale.ROOT) + " in PEM",
                    null);
        }
        return found;
    }
}
