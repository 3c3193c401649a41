package io.homeostat.reconcile.fleet;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.json.JsonMapper;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import com.google.protobuf.ByteString;
import io.homeostat.desired.fleet.BucketReport;
import io.homeostat.desired.fleet.MachineRegistration;
import io.homeostat.desired.fleet.MachineReport;
import io.homeostat.desired.fleet.MachineReport.ReportedWorkload;
import io.homeostat.desired.model.BriefText;
import io.homeostat.desired.state.RecordCodec;
import java.time.DateTimeException;
import java.time.Instant;
import java.util.Collections;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class MachineReaderTest {
    private static final String AT = "\"at\": \"2026-01-02T03:04:05.678Z\"";

    private final RecordCodec codec = new RecordCodec(new JsonMapper());
    private final MachineReader reader = new MachineReader();

    @Test
    void everyFieldIsReadAsItWasWritten() {
        Instant at = Instant.parse("2026-01-02T03:04:05.678Z");
        MachineReport report =
                new MachineReport("a", at, "s", "v", 1L << 40, 2, ImmutableList.of(workload("f"), none()));
        MachineRegistration machine = new MachineRegistration(ImmutableSortedMap.of("b", "c", "d", "é"), at);
        BucketReport inBucket = new BucketReport(machine.labels(), report);

        assertEquals(inBucket, reader.bucketReport(ByteString.copyFromUtf8(codec.write(inBucket))));
        assertEquals(report, reader.report(ByteString.copyFromUtf8(codec.write(report))));
        assertEquals(machine, reader.registration(ByteString.copyFromUtf8(codec.write(machine))));
    }

    private static ReportedWorkload workload(String failure) {
        return new ReportedWorkload("process/a", "1", "2", "3", "RUNNING", true, true, true, true, 4, failure);
    }

    private static ReportedWorkload none() {
        return new ReportedWorkload("", "", "", "", "", false, false, false, false, 0, "");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{AT}",
                "{AT, 'agent': null, 'workloads': null, 'labels': null}",
                "{AT, 'later': {'a': [1, {}]}, 'agent': 'x', 'labels': {'a': 'b'}}",
                "{AT, 'workloads': [{'later': [], 'id': 'process/a', 'failed': null, 'paused': true}, {}]}",
            })
    void whatIsLeftOutOrNotKnownCountsAsForTheCodec(String text) {
        String json = json(text);

        assertEquals(codec.read(MachineReport.class, json), reader.report(ByteString.copyFromUtf8(json)));
        assertEquals(codec.read(MachineRegistration.class, json), reader.registration(ByteString.copyFromUtf8(json)));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "[]",
                "{AT",
                "{}",
                "{'at': 1}",
                "{'at': 'yesterday'}",
                "{AT, 'agent': 1}",
                "{AT, 'sequence': '1'}",
                "{AT, 'sequence': 1.5}",
                "{AT, 'problems': 3000000000}",
                "{AT, 'workloads': {}}",
                "{AT, 'workloads': [null]}",
                "{AT, 'workloads': ['process/a']}",
                "{AT, 'workloads': [{'id': []}]}",
                "{AT, 'workloads': [{'restarts': true}]}",
                "{AT, 'workloads': [{'healthy': 'yes'}]}",
                "{AT, 'sequence': 18446744073709551617}",
            })
    void noReportIsReadThatTheCodecCouldNotRead(String text) {
        String json = json(text);

        assertThrows(IllegalArgumentException.class, () -> codec.read(MachineReport.class, json));
        assertThrows(IllegalArgumentException.class, () -> reader.report(ByteString.copyFromUtf8(json)));
    }

    @Test
    void whatIsBeyondTheBoundsOfTheParserIsRefused() {
        for (String text : ImmutableList.of(
                "{'later': " + "[".repeat(1_001),
                "{'sequence': " + "9".repeat(900_000) + "}",
                "{'" + "k".repeat(60_000) + "': 1}",
                "{'report': {'sequence': " + "9".repeat(900_000) + "}}")) {
            ByteString json = ByteString.copyFromUtf8(json(text));

            assertThrows(IllegalArgumentException.class, () -> reader.report(json));
            assertThrows(IllegalArgumentException.class, () -> reader.registration(json));
            assertThrows(IllegalArgumentException.class, () -> reader.bucketReport(json));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"[]", "{'labels': {}}", "{AT, 'labels': []}", "{AT, 'labels': {'a': null}}"})
    void noRegistrationIsReadThatTheCodecCouldNotRead(String text) {
        String json = json(text);

        assertThrows(IllegalArgumentException.class, () -> codec.read(MachineRegistration.class, json));
        assertThrows(IllegalArgumentException.class, () -> reader.registration(ByteString.copyFromUtf8(json)));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "2026-01-02T03:04:05Z",
                "2026-01-02T03:04:05.6Z",
                "2026-01-02T03:04:05.067Z",
                "2026-01-02T03:04:05.000000007Z",
                "2024-02-29T23:59:59.999999999Z",
                "0000-01-01T00:00:00Z",
                "1969-12-31T23:59:59.5Z",
                "2026-01-02T24:00:00Z",
                "2026-01-02T23:59:60Z",
                "2026-01-02t03:04:05z",
                "2026-01-02T03:04:05.Z",
                "2026-01-02T03:04:05+02:00",
                "+12026-01-02T03:04:05Z",
                "-0001-01-02T03:04:05Z",
            })
    void timesAreReadAsAnInstantReadsThem(String time) {
        assertEquals(
                Instant.parse(time),
                reader.registration(ByteString.copyFromUtf8(json("{'at': '" + time + "'}")))
                        .at());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "Z",
                "2026-01-02",
                "2026-01-02T03:04:05",
                "2026-02-29T03:04:05Z",
                "2026-13-02T03:04:05Z",
                "2026-01-02T25:04:05Z",
                "2026-01-02T24:00:01Z",
                "2026-01-02T03:60:05Z",
                "2026-01-02T03:04:60Z",
                "2026-01-02T03:04:61Z",
                "2026-01-02T03:04:05.0000000001Z",
                "2026-01-02T03:04:0\u0665Z",
                "2026-01-02T03:04:-5Z",
                "2026-01-02T03:04:+5Z",
                "2026-01-02 03:04:05Z",
                "2026-01-02T03:04:05.1ZZ",
            })
    void whatAnInstantDoesNotReadIsNoTime(String time) {
        assertThrows(DateTimeException.class, () -> Instant.parse(time));
        IllegalArgumentException failure = assertThrows(
                IllegalArgumentException.class,
                () -> reader.registration(ByteString.copyFromUtf8(json("{'at': '" + time + "'}"))));
        assertEquals("at: not a time", failure.getMessage());
    }

    private static String json(String text) {
        return text.replace("AT", AT).replace('\'', '"');
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"[]", "{}", "{'labels': {}}", "{'report': {}}", "{'report': {AT}, 'labels': 1}", "{'report': {AT"
            })
    void noObjectOfABucketIsReadThatTheCodecCouldNotRead(String text) {
        String json = json(text);

        assertThrows(IllegalArgumentException.class, () -> codec.read(BucketReport.class, json));
        IllegalArgumentException failure =
                assertThrows(IllegalArgumentException.class, () -> reader.bucketReport(ByteString.copyFromUtf8(json)));
        assertFalse(String.valueOf(failure.getMessage()).contains("\n"), failure.getMessage());
    }

    @ParameterizedTest
    @CsvSource({"{}, 10000, workloads: more than 10000", "'', 1000, labels: more than 1000"})
    void aMachineHasOnlySoManyWorkloadsAndLabels(String workload, int most, String words) {
        assertEquals(
                Instant.EPOCH,
                reader.bucketReport(report(workload, most)).report().at());

        IllegalArgumentException failure =
                assertThrows(IllegalArgumentException.class, () -> reader.bucketReport(report(workload, most + 1)));

        assertTrue(String.valueOf(failure.getMessage()).startsWith(words), failure.getMessage());
    }

    private static ByteString report(String workload, int times) {
        String labels = IntStream.range(0, workload.isEmpty() ? times : 0)
                .mapToObj(i -> "'" + i + "': ''")
                .collect(Collectors.joining(","));
        String workloads = String.join(",", Collections.nCopies(workload.isEmpty() ? 0 : times, workload));
        return ByteString.copyFromUtf8(("{'labels': {" + labels
                        + "}, 'report': {'at': '1970-01-01T00:00:00Z', 'workloads': [" + workloads + "]}}")
                .replace('\'', '"'));
    }

    @Test
    void theFieldIsNamedThatCannotBeRead() {
        IllegalArgumentException failure = assertThrows(
                IllegalArgumentException.class,
                () -> reader.report(ByteString.copyFromUtf8(json("{AT, 'workloads': [{'restarts': 'many'}]}"))));
        assertEquals("restarts: not a whole number", failure.getMessage());
    }

    @Test
    void thousandsOfMachinesThatSayTheSameHaveOneStringForIt() {
        String json = json("{AT, 'agent': '1.2.3'}");
        MachineReport one = reader.report(ByteString.copyFromUtf8(json));
        MachineReport other = reader.report(ByteString.copyFromUtf8(json));
        assertSame(one.agent(), other.agent());
    }

    @Test
    void longTextsAreShortened() {
        String text = "x".repeat(1_000);
        String brief = "x".repeat(BriefText.LONGEST - 3) + "...";

        assertEquals(said(brief), reader.report(ByteString.copyFromUtf8(codec.write(said(text)))));
        String longest = "x".repeat(BriefText.LONGEST);
        assertEquals(said(longest), reader.report(ByteString.copyFromUtf8(codec.write(said(longest)))));
    }

    private static MachineReport said(String text) {
        return new MachineReport(
                text,
                Instant.EPOCH,
                text,
                text,
                0,
                0,
                ImmutableList.of(
                        new ReportedWorkload(text, text, text, text, text, true, true, false, false, 0, text)));
    }

    /** By a part of a label a machine would be another one's place. */
    @ParameterizedTest
    @CsvSource({"1024, 1", "1, 1024"})
    void aMachineWithLongerLabelsThanAnyHasIsRefused(int name, int value) {
        String longest = labelled("n".repeat(name), "v".repeat(value));
        assertEquals(
                codec.read(MachineRegistration.class, longest), reader.registration(ByteString.copyFromUtf8(longest)));

        String longer = longest.replace(name == 1 ? "v\"" : "n\"", name == 1 ? "vv\"" : "nn\"");
        IllegalArgumentException failure = assertThrows(
                IllegalArgumentException.class, () -> reader.registration(ByteString.copyFromUtf8(longer)));
        assertEquals(
                "labels: a name or value of more than 1024 characters; give the machine shorter labels",
                failure.getMessage());
    }

    private String labelled(String name, String value) {
        return codec.write(new MachineRegistration(ImmutableSortedMap.of(name, value), Instant.EPOCH));
    }
}
