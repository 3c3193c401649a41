package io.homeostat.reconcile.fleet;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import com.google.common.collect.Interner;
import com.google.common.collect.Interners;
import com.google.protobuf.ByteString;
import io.homeostat.desired.fleet.BucketReport;
import io.homeostat.desired.fleet.MachineRegistration;
import io.homeostat.desired.fleet.MachineReport;
import io.homeostat.desired.fleet.MachineReport.ReportedWorkload;
import io.homeostat.desired.model.BriefText;
import io.homeostat.desired.model.VisibleText;
import io.homeostat.desired.state.RecordCodec;
import java.io.IOException;
import java.time.DateTimeException;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Reads what machines have written with {@link RecordCodec}, to the same records, but ten thousand of them in a third of the time, and with
 * one string for what many of them say. Texts are shortened to what agents write at most, but not labels, which decide what is for a machine.
 * A machine that says more than any has is refused before all of it is in memory. For any number of threads.
 */
public final class MachineReader {
    /** Workloads of a machine, which has some hundreds. The shortest are 3 bytes of text, and 50 of memory. */
    private static final int MOST_WORKLOADS = 10_000;

    private static final int MOST_LABELS = 1_000;

    /** The most characters of a label's name, and of its value. */
    private static final int LONGEST_LABEL = 1_024;

    /** With a digit for each 0; of the fraction as many as there are. */
    private static final String PLAIN_TIME = "0000-00-00T00:00:00.000000000";

    /** Where the seconds of it end. */
    private static final int SECONDS = 19;

    /** Bytes of a record beside its texts, about. */
    private static final int OF_RECORD = 64;

    /** Bytes of a text beside its characters, about. */
    private static final int OF_TEXT = 48;

    private final JsonFactory json = new JsonFactory();
    private final Interner<String> words = Interners.newWeakInterner();

    /** Returns the most bytes that all reports may take together, as {@link #bytes} counts: the part of the heap that can be spared. */
    public static long mostBytes() {
        return Runtime.getRuntime().maxMemory() / 8;
    }

    /** Returns the bytes of memory that a report takes, about, if no text of it is shared. */
    public static long bytes(MachineReport report) {
        return OF_RECORD
                + bytes(report.agent())
                + bytes(report.source())
                + bytes(report.version())
                + report.workloads().stream()
                        .mapToLong(workload -> OF_RECORD
                                + bytes(workload.id())
                                + bytes(workload.revision())
                                + bytes(workload.desired())
                                + bytes(workload.failed())
                                + bytes(workload.state())
                                + bytes(workload.failure()))
                        .sum();
    }

    /** Returns the bytes of memory that labels take, about. */
    public static long bytes(Map<String, String> labels) {
        return labels.entrySet().stream()
                .mapToLong(label -> OF_RECORD + bytes(label.getKey()) + bytes(label.getValue()))
                .sum();
    }

    private static long bytes(String text) {
        return text.isEmpty() ? 0 : OF_TEXT + text.length();
    }

    private interface Reading<T> {
        T read(JsonParser parser) throws IOException;
    }

    /** Throws an IllegalArgumentException if any part can't be read. */
    MachineRegistration registration(ByteString text) {
        return read(text, this::registration);
    }

    /** Throws an IllegalArgumentException if any part can't be read. */
    MachineReport report(ByteString text) {
        return read(text, this::report);
    }

    /** Reads what a machine has written into a bucket. Throws an IllegalArgumentException if any part can't be read. */
    public BucketReport bucketReport(ByteString text) {
        return read(text, this::bucketReport);
    }

    private <T> T read(ByteString text, Reading<T> reading) {
        return RecordCodec.foreign(() -> {
            try (JsonParser parser = json.createParser(text.toByteArray())) {
                parser.nextToken();
                return reading.read(parser);
            }
        });
    }

    private BucketReport bucketReport(JsonParser parser) throws IOException {
        ImmutableSortedMap<String, String> labels = ImmutableSortedMap.of();
        @Nullable MachineReport report = null;
        require(parser.currentToken() == JsonToken.START_OBJECT, "all", "an object");
        for (String name = next(parser); name != null; name = next(parser)) {
            switch (name) {
                case "labels" -> labels = labels(name, parser);
                case "report" -> report = report(parser);
                default -> parser.skipChildren();
            }
        }
        if (report == null) {
            throw new IllegalArgumentException("report is missing");
        }
        return new BucketReport(labels, report);
    }

    private MachineRegistration registration(JsonParser parser) throws IOException {
        ImmutableSortedMap<String, String> labels = ImmutableSortedMap.of();
        Instant at = null;
        require(parser.currentToken() == JsonToken.START_OBJECT, "all", "an object");
        for (String name = next(parser); name != null; name = next(parser)) {
            switch (name) {
                case "labels" -> labels = labels(name, parser);
                case "at" -> at = time(name, parser);
                default -> parser.skipChildren();
            }
        }
        return new MachineRegistration(labels, present(at));
    }

    private MachineReport report(JsonParser parser) throws IOException {
        String agent = "";
        Instant at = null;
        String source = "";
        String version = "";
        long sequence = 0;
        int problems = 0;
        ImmutableList<ReportedWorkload> workloads = ImmutableList.of();
        require(parser.currentToken() == JsonToken.START_OBJECT, "all", "an object");
        for (String name = next(parser); name != null; name = next(parser)) {
            switch (name) {
                case "agent" -> agent = text(name, parser);
                case "at" -> at = time(name, parser);
                case "source" -> source = text(name, parser);
                case "version" -> version = text(name, parser);
                case "sequence" -> sequence = number(name, parser);
                case "problems" -> problems = integer(name, parser);
                case "workloads" -> workloads = workloads(name, parser);
                default -> parser.skipChildren();
            }
        }
        return new MachineReport(agent, present(at), source, version, sequence, problems, workloads);
    }

    private ImmutableList<ReportedWorkload> workloads(String list, JsonParser parser) throws IOException {
        require(parser.currentToken() == JsonToken.START_ARRAY, list, "a list");
        ImmutableList.Builder<ReportedWorkload> workloads = ImmutableList.builder();
        for (int i = 0; parser.nextToken() != JsonToken.END_ARRAY; i++) {
            requireAtMost(MOST_WORKLOADS, i, list);
            require(parser.currentToken() == JsonToken.START_OBJECT, list, "a list of objects");
            workloads.add(workload(parser));
        }
        return workloads.build();
    }

    private ReportedWorkload workload(JsonParser parser) throws IOException {
        String id = "";
        String revision = "";
        String desired = "";
        String failed = "";
        String state = "";
        boolean converged = false;
        boolean healthy = false;
        boolean paused = false;
        boolean givenUp = false;
        int restarts = 0;
        String failure = "";
        for (String name = next(parser); name != null; name = next(parser)) {
            switch (name) {
                case "id" -> id = text(name, parser);
                case "revision" -> revision = text(name, parser);
                case "desired" -> desired = text(name, parser);
                case "failed" -> failed = text(name, parser);
                case "state" -> state = text(name, parser);
                case "converged" -> converged = flag(name, parser);
                case "healthy" -> healthy = flag(name, parser);
                case "paused" -> paused = flag(name, parser);
                case "givenUp" -> givenUp = flag(name, parser);
                case "restarts" -> restarts = integer(name, parser);
                case "failure" -> failure = text(name, parser);
                default -> parser.skipChildren();
            }
        }
        return new ReportedWorkload(
                id, revision, desired, failed, state, converged, healthy, paused, givenUp, restarts, failure);
    }

    private ImmutableSortedMap<String, String> labels(String map, JsonParser parser) throws IOException {
        require(parser.currentToken() == JsonToken.START_OBJECT, map, "an object");
        ImmutableSortedMap.Builder<String, String> labels = ImmutableSortedMap.naturalOrder();
        String name = parser.nextFieldName();
        for (int i = 0; name != null; i++) {
            requireAtMost(MOST_LABELS, i, map);
            parser.nextToken();
            require(parser.currentToken() == JsonToken.VALUE_STRING, map, "an object of texts");
            labels.put(label(map, name), label(map, parser.getText()));
            name = parser.nextFieldName();
        }
        return labels.buildOrThrow();
    }

    /** The name of the next field that has a value, where the parser is then; null after the last one. */
    private static @Nullable String next(JsonParser parser) throws IOException {
        String name = parser.nextFieldName();
        while (name != null && parser.nextToken() == JsonToken.VALUE_NULL) {
            name = parser.nextFieldName();
        }
        return name;
    }

    private String text(String name, JsonParser parser) throws IOException {
        require(parser.currentToken() == JsonToken.VALUE_STRING, name, "a text");
        return words.intern(VisibleText.cut(parser.getText(), BriefText.LONGEST));
    }

    private String label(String map, String text) {
        if (text.length() > LONGEST_LABEL) {
            throw new IllegalArgumentException(map + ": a name or value of more than " + LONGEST_LABEL
                    + " characters; give the machine shorter labels");
        }
        return words.intern(text);
    }

    private static Instant time(String name, JsonParser parser) throws IOException {
        require(parser.currentToken() == JsonToken.VALUE_STRING, name, "a time");
        try {
            return time(parser.getText());
        } catch (DateTimeException e) {
            throw new IllegalArgumentException(name + ": not a time", e);
        }
    }

    /** As {@link Instant#parse}, which takes far longer, reads it. */
    private static Instant time(String text) {
        int end = text.length() - 1;
        if (!isPlain(text, end)) {
            return Instant.parse(text);
        }
        int nanos = end == SECONDS ? 0 : digits(text, SECONDS + 1, end);
        for (int digit = end; digit < PLAIN_TIME.length(); digit++) {
            nanos *= 10;
        }
        return LocalDateTime.of(
                        digits(text, 0, 4),
                        digits(text, 5, 7),
                        digits(text, 8, 10),
                        digits(text, 11, 13),
                        digits(text, 14, 16),
                        digits(text, 17, SECONDS),
                        nanos)
                .toInstant(ZoneOffset.UTC);
    }

    /** Of the ends of days, which may be 24:00, and leap seconds Instant knows the rules. */
    private static boolean isPlain(String text, int end) {
        if (end < SECONDS || end > PLAIN_TIME.length() || end == SECONDS + 1 || text.charAt(end) != 'Z') {
            return false;
        }
        for (int i = 0; i < end; i++) {
            char found = text.charAt(i);
            char wanted = PLAIN_TIME.charAt(i);
            if (wanted == '0' ? found < '0' || found > '9' : found != wanted) {
                return false;
            }
        }
        return !text.startsWith("24", 11) && !text.startsWith("60", 17);
    }

    private static int digits(String text, int from, int to) {
        return Integer.parseInt(text, from, to, 10);
    }

    private static long number(String name, JsonParser parser) throws IOException {
        require(parser.currentToken() == JsonToken.VALUE_NUMBER_INT, name, "a whole number");
        return parser.getLongValue();
    }

    private static int integer(String name, JsonParser parser) throws IOException {
        require(parser.currentToken() == JsonToken.VALUE_NUMBER_INT, name, "a whole number");
        return parser.getIntValue();
    }

    private static boolean flag(String name, JsonParser parser) throws IOException {
        require(parser.currentToken().isBoolean(), name, "true or false");
        return parser.getBooleanValue();
    }

    private static void require(boolean fits, String name, String what) {
        if (!fits) {
            throw new IllegalArgumentException(name + ": not " + what);
        }
    }

    private static void requireAtMost(int most, int before, String name) {
        if (before == most) {
            throw new IllegalArgumentException(name + ": more than " + most + ", which no machine has");
        }
    }

    private static Instant present(@Nullable Instant at) {
        if (at == null) {
            throw new IllegalArgumentException("at is missing");
        }
        return at;
    }
}
