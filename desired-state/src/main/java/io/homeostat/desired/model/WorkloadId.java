package io.homeostat.desired.model;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * Names one workload: unique per kind on a machine. Sorted by kind, then by name.
 *
 * <p>Written as {@code KIND/NAME}, in which a name has every character that is special in shells or on terminals percent-encoded, as in
 * URLs (RFC 3986, 2.1): {@code plugin/ops%20agent}.
 *
 * @param name what {@link #NAME} says, unless a message carried another one
 */
public record WorkloadId(Kind kind, String name) implements Comparable<WorkloadId> {

    /** What a workload may be called in YAML. Any such name is the name of its directory, too. */
    public static final Pattern NAME = Pattern.compile("[A-Za-z0-9][A-Za-z0-9._-]{0,62}");

    private static final String PLAIN_MARKS = "._-+:@=~";
    private static final HexFormat HEX = HexFormat.of().withUpperCase();

    public static WorkloadId plugin(String name) {
        return new WorkloadId(Kind.PLUGIN, name);
    }

    public static WorkloadId process(String name) {
        return new WorkloadId(Kind.PROCESS, name);
    }

    /** Reads {@code KIND/NAME}, the kind in any case, the name percent-encoded or not; empty when the text is not of that form. */
    public static Optional<WorkloadId> parse(String text) {
        int slash = text.indexOf('/');
        if (slash < 0) {
            return Optional.empty();
        }
        return Kind.ofWord(text.substring(0, slash))
                .map(kind -> new WorkloadId(kind, decode(text.substring(slash + 1))));
    }

    @Override
    public int compareTo(WorkloadId other) {
        int byKind = kind.compareTo(other.kind);
        return byKind == 0 ? name.compareTo(other.name) : byKind;
    }

    @Override
    public String toString() {
        return kind.word() + "/" + encode(name);
    }

    /** The same where its length counts, see {@link BriefText}. */
    public String brief() {
        return BriefText.of(toString());
    }

    private static String encode(String name) {
        if (isPlain(name)) {
            return name;
        }
        StringBuilder encoded = new StringBuilder();
        for (byte each : name.getBytes(StandardCharsets.UTF_8)) {
            if (isPlain(each)) {
                encoded.append((char) each);
            } else {
                encoded.append('%');
                HEX.toHexDigits(encoded, each);
            }
        }
        return encoded.toString();
    }

    private static boolean isPlain(String name) {
        for (int i = 0; i < name.length(); i++) {
            if (!isPlain(name.charAt(i))) {
                return false;
            }
        }
        return true;
    }

    private static boolean isPlain(int c) {
        return (c >= 'a' && c <= 'z')
                || (c >= 'A' && c <= 'Z')
                || (c >= '0' && c <= '9')
                || PLAIN_MARKS.indexOf(c) >= 0;
    }

    /** What is not the encoding of anything stands for itself. */
    private static String decode(String text) {
        if (text.indexOf('%') < 0) {
            return text;
        }
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        ByteArrayOutputStream decoded = new ByteArrayOutputStream(bytes.length);
        for (int i = 0; i < bytes.length; i++) {
            boolean encoded = bytes[i] == '%'
                    && i + 2 < bytes.length
                    && HexFormat.isHexDigit(bytes[i + 1])
                    && HexFormat.isHexDigit(bytes[i + 2]);
            decoded.write(
                    encoded
                            ? HexFormat.fromHexDigit(bytes[i + 1]) << 4 | HexFormat.fromHexDigit(bytes[i + 2])
                            : bytes[i]);
            i += encoded ? 2 : 0;
        }
        return decoded.toString(StandardCharsets.UTF_8);
    }
}
