package io.homeostat.observe.ttrpc;

import com.google.protobuf.ByteString;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;

/** What a real agent of a guest was asked and answered, byte by byte: {@code wire/kata-frames.txt}. */
public final class KataFrames {
    private static final Pattern CALL = Pattern.compile("## (\\S+)/(\\S+) -> code (\\d+) ['\"](.*)['\"]\\R"
            + "> header (\\p{XDigit}{20}) payload (\\p{XDigit}*)(\u2026\\((\\d+) bytes\\))?\\R"
            + "  = .*\\R"
            + "< header (\\p{XDigit}{20}) payload (\\p{XDigit}*)(\u2026\\((\\d+) bytes\\))?\\R?");

    private KataFrames() {}

    /**
     * @param code of the answer
     * @param words the beginning of what it says
     */
    public record Exchange(String service, String method, int code, String words, Recorded asked, Recorded answered) {
        @Override
        public String toString() {
            return method + " " + code + " on stream " + Integer.toUnsignedString(asked.stream());
        }
    }

    /** @param payload its beginning, when the record is shorter than it was */
    public record Recorded(int length, int stream, byte type, byte flags, ByteString payload) {
        boolean isWhole() {
            return payload.size() == length;
        }

        Frame frame() {
            return new Frame(stream, type, flags, payload);
        }
    }

    public static List<Exchange> read() throws IOException {
        String text = Files.readString(Path.of("src/test/resources/wire/kata-frames.txt"));
        List<Exchange> result = new ArrayList<>();
        CALL.matcher(text).results().forEach(call -> result.add(exchange(call)));
        return result;
    }

    private static Exchange exchange(MatchResult call) {
        return new Exchange(
                call.group(1),
                call.group(2),
                Integer.parseInt(call.group(3)),
                call.group(4),
                recorded(call.group(5), call.group(6)),
                recorded(call.group(9), call.group(10)));
    }

    private static Recorded recorded(String header, String payload) {
        return new Recorded(
                Integer.parseUnsignedInt(header, 0, 8, 16),
                Integer.parseUnsignedInt(header, 8, 16, 16),
                (byte) Integer.parseInt(header, 16, 18, 16),
                (byte) Integer.parseInt(header, 18, 20, 16),
                ByteString.copyFrom(HexFormat.of().parseHex(payload)));
    }
}
