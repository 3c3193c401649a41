package io.homeostat.desired.platform;

import com.google.common.hash.Hashing;
import io.homeostat.desired.model.WorkloadId;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.Optional;

/**
 * Names of directories for workloads that may be called anything. A name that YAML can have is its own. In any other one each byte that is
 * no letter, digit, '-' or '.' (nor that at its beginning) is {@code ~} and two hexadecimal digits. What would be longer than {@value
 * #LONGEST} characters is a beginning, {@code ~~} and a hash. So no two names have the same directory, none leaves its parent, and only a
 * hashed one can't be told from its directory.
 */
final class DirectoryName {
    private static final int LONGEST = 120;
    private static final int LONGEST_BEGINNING = 40;
    private static final HexFormat HEX = HexFormat.of().withUpperCase();

    private DirectoryName() {}

    static String of(String name) {
        if (WorkloadId.NAME.matcher(name).matches()) {
            return name;
        }
        StringBuilder escaped = new StringBuilder();
        for (byte each : name.getBytes(StandardCharsets.UTF_8)) {
            if (isAlphanumeric(each) || (!escaped.isEmpty() && (each == '-' || each == '.'))) {
                escaped.append((char) each);
            } else {
                escaped.append('~');
                HEX.toHexDigits(escaped, each);
            }
        }
        return !escaped.isEmpty() && escaped.length() <= LONGEST
                ? escaped.toString()
                : beginning(name) + "~~" + hash(name);
    }

    /** The name that has this directory; empty when none has, or its name can't be told. */
    static Optional<String> read(String directory) {
        if (WorkloadId.NAME.matcher(directory).matches()) {
            return Optional.of(directory);
        }
        byte[] bytes = directory.getBytes(StandardCharsets.UTF_8);
        ByteArrayOutputStream name = new ByteArrayOutputStream(bytes.length);
        for (int i = 0; i < bytes.length; i++) {
            if (bytes[i] != '~') {
                name.write(bytes[i]);
            } else if (i + 2 < bytes.length
                    && HexFormat.isHexDigit(bytes[i + 1])
                    && HexFormat.isHexDigit(bytes[i + 2])) {
                name.write(HexFormat.fromHexDigit(bytes[i + 1]) << 4 | HexFormat.fromHexDigit(bytes[i + 2]));
                i += 2;
            } else {
                return Optional.empty();
            }
        }
        return Optional.of(name.toString(StandardCharsets.UTF_8)).filter(read -> of(read).equals(directory));
    }

    /** As much of a text as may stand in a name, for people. */
    static String beginning(String text) {
        return text.substring(0, Math.min(text.length(), LONGEST_BEGINNING)).replaceAll("[^A-Za-z0-9.-]", "-");
    }

    /** 32 hexadecimal digits of the SHA-256 of texts, each with its length. */
    static String hash(String... texts) {
        StringBuilder all = new StringBuilder();
        for (String text : texts) {
            all.append(text.length()).append(':').append(text);
        }
        return Hashing.sha256()
                .hashString(all, StandardCharsets.UTF_8)
                .toString()
                .substring(0, 32);
    }

    private static boolean isAlphanumeric(byte c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    }
}
