package io.homeostat.desired.state.history;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.Lifecycle.Execution;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.RecordCodec;
import io.homeostat.desired.state.history.Attempts.Failures;
import io.homeostat.desired.state.history.Attempts.ReloadFailures;
import io.homeostat.desired.state.history.Attempts.Reported;
import io.homeostat.desired.state.history.Attempts.Reported.ReportedFailure;
import io.homeostat.desired.state.history.RunRecord.CalendarSince;
import io.homeostat.desired.state.history.RunRecord.Completed;
import io.homeostat.desired.state.history.RunRecord.Stop;
import io.homeostat.desired.state.history.WorkloadHistory.Apply;
import io.homeostat.desired.state.history.WorkloadHistory.Asked;
import io.homeostat.desired.state.history.WorkloadHistory.Decision;
import io.homeostat.desired.state.history.WorkloadHistory.FailedRevision;
import io.homeostat.desired.state.history.WorkloadHistory.LastKnownGood;
import io.homeostat.desired.state.sqlite.Samples;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The stored form of each record, which later versions have to read. */
class StoredHistoryTest {
    private static final Instant NOON = Instant.parse("2026-01-02T12:00:00Z");
    private static final Exit EXIT = new Exit(null, 9, Exit.Reason.SIGNALED, NOON);

    private final RecordCodec codec = new RecordCodec(new ObjectMapper());

    static Stream<Arguments> records() {
        Failures failures = new Failures(2, NOON, "no", true);
        String stored = "{'count':2,'last':'2026-01-02T12:00:00Z','error':'no','fatal':true}";
        return Stream.of(
                Arguments.of(failures, stored),
                Arguments.of(Failures.NONE, "{}"),
                Arguments.of(new Failures(0, NOON, "no", false), "{'last':'2026-01-02T12:00:00Z','error':'no'}"),
                Arguments.of(new ReloadFailures(failures, "c1"), "{'failures':" + stored + ",'contents':'c1'}"),
                Arguments.of(EXIT, "{'signal':9,'reason':'SIGNALED','at':'2026-01-02T12:00:00Z'}"),
                Arguments.of(
                        new Exit(0, null, Exit.Reason.EXITED, NOON),
                        "{'code':0,'reason':'EXITED','at':'2026-01-02T12:00:00Z'}"),
                Arguments.of(
                        OneShotRun.begun("w", "l", "b", "i", NOON),
                        "{'work':'w','launchId':'l','bootId':'b','instanceId':'i','startedAt':'2026-01-02T12:00:00Z','result':'RUNNING'}"),
                Arguments.of(
                        OneShotRun.begun("w", "", "b", "i", NOON)
                                .failed(NOON.plusMillis(1), EXIT, "no")
                                .tryAgain(),
                        "{'work':'w','bootId':'b','instanceId':'i','startedAt':'2026-01-02T12:00:00Z','result':'FAILED',"
                                + "'endedAt':'2026-01-02T12:00:00.001Z','exit':{'signal':9,'reason':'SIGNALED',"
                                + "'at':'2026-01-02T12:00:00Z'},'error':'no','retried':true}"),
                Arguments.of(
                        new Condition(
                                Condition.Type.GIVEN_UP, Condition.Status.TRUE, Reason.TOO_MANY_FAILURES, "no", NOON),
                        "{'type':'GIVEN_UP','status':'TRUE','reason':'TOO_MANY_FAILURES','message':'no',"
                                + "'lastTransitionTime':'2026-01-02T12:00:00Z'}"),
                Arguments.of(new FailureCause(FailureCause.Kind.HTTP_STATUS, 403), "{'kind':'HTTP_STATUS','code':403}"),
                Arguments.of(FailureCause.of(FailureCause.Kind.TLS), "{'kind':'TLS'}"),
                Arguments.of(
                        new Decision(Execution.State.DISABLED, "rule", NOON),
                        "{'state':'DISABLED','why':'rule','since':'2026-01-02T12:00:00Z'}"),
                Arguments.of(
                        new Asked(true, new Apply("c", "h")), "{'install':true,'apply':{'config':'c','base':'h'}}"),
                Arguments.of(
                        new FailedRevision("h", "B2", 3, NOON, "no"),
                        "{'hash':'h','revision':'B2','times':3,'at':'2026-01-02T12:00:00Z','error':'no'}"),
                Arguments.of(
                        FailedRevision.byRequest("h", "B2", NOON, "no", null).withReplacedAt(NOON),
                        "{'hash':'h','revision':'B2','times':1,'at':'2026-01-02T12:00:00Z','error':'no','byRequest':true,"
                                + "'replacedAt':'2026-01-02T12:00:00Z'}"),
                Arguments.of(
                        Attempts.of("h")
                                .withRestartToConfigure(true)
                                .withReported(new Reported(
                                        "B2",
                                        ImmutableList.of(new ReportedFailure(
                                                EventType.PLUGIN_INSTALL_FAILED,
                                                "B2",
                                                FailureCause.of(FailureCause.Kind.TLS))))),
                        "{'hash':'h','restartToConfigure':true,'revision':'B2','told':[{'type':'PLUGIN_INSTALL_FAILED',"
                                + "'revision':'B2','cause':{'kind':'TLS'}}]}"),
                Arguments.of(
                        RunRecord.NONE
                                .withRestart()
                                .healthy(NOON)
                                .withAgain("")
                                .withCalendar(new CalendarSince("k", NOON))
                                .withCompleted(new Completed("w", "l", "", EXIT))
                                .withStop(new Stop("l", Stop.Meaning.SUPERSEDED)),
                        "{'restarts':1,'healthySince':'2026-01-02T12:00:00Z','again':'','calendar':{'key':'k',"
                                + "'since':'2026-01-02T12:00:00Z'},'completed':{'work':'w','launchId':'l','exit':{'signal':9,"
                                + "'reason':'SIGNALED','at':'2026-01-02T12:00:00Z'}},'stop':{'launchId':'l',"
                                + "'meaning':'SUPERSEDED'}}"),
                Arguments.of(
                        RunRecord.NONE.unhealthy(NOON).withCrashes(failures).withRepairs(failures),
                        "{'crashes':" + stored
                                + ",'healthFailures':1,'lastHealthFailure':'2026-01-02T12:00:00Z','repairs':" + stored
                                + "}"),
                Arguments.of(
                        WorkloadHistory.NONE.withAttempts(
                                3,
                                new Attempts(
                                        "h",
                                        failures,
                                        Failures.NONE,
                                        failures,
                                        failures,
                                        failures,
                                        failures,
                                        new ReloadFailures(failures, ""),
                                        false,
                                        Reported.NOTHING)),
                        ("{'observedGeneration':3,'trial':{'hash':'h','install':F,'configure':F,'limits':F,'restore':F,"
                                        + "'upkeep':F,'reload':{'failures':F}}}")
                                .replace("F", stored)));
    }

    @ParameterizedTest
    @MethodSource("records")
    void aRecordHasItsStoredForm(Record record, String stored) {
        String json = stored.replace('\'', '"');

        assertEquals(json, codec.write(record));
        assertEquals(record, codec.read(record.getClass(), json));
    }

    @Test
    void theLastGoodRevisionIsStoredWithItsDeclaration() {
        LastKnownGood good = new LastKnownGood(Samples.plugin("a", "A1"), "h", null);

        assertEquals(good, codec.read(LastKnownGood.class, codec.write(good)));
        assertEquals(Samples.eventful(), codec.read(WorkloadHistory.class, codec.write(Samples.eventful())));
    }

    @ParameterizedTest
    @EnumSource(Reason.class)
    void everyReasonOfAConditionComesBack(Reason reason) {
        Condition condition = new Condition(Condition.Type.HEALTHY, Condition.Status.UNKNOWN, reason, "", NOON);

        assertEquals(condition, codec.read(Condition.class, codec.write(condition)));
    }

    @ParameterizedTest
    @EnumSource(FailureCause.Kind.class)
    void everyCauseOfAFailureComesBack(FailureCause.Kind kind) {
        FailureCause cause = new FailureCause(kind, 7);

        assertEquals(cause, codec.read(FailureCause.class, codec.write(cause)));
    }

    @ParameterizedTest
    @ValueSource(strings = {"HTTP_STATUS", "http_status", "HttpStatus", "httpstatus"})
    void aConstantIsReadInAnyCase(String kind) {
        assertEquals(
                new FailureCause(FailureCause.Kind.HTTP_STATUS, 0),
                codec.read(FailureCause.class, "{\"kind\":\"" + kind + "\"}"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{'count':'2'}",
                "{'count':2.5}",
                "{'count':99999999999}",
                "{'last':'noon'}",
                "{'last':5}",
                "{'error':5}",
                "{'fatal':'yes'}",
                "{'fatal':1}",
                "[]",
                "2",
                "null",
                "",
                "{'count':",
            })
    void whatHasAnotherTypeIsRejected(String stored) {
        assertThrows(IllegalArgumentException.class, () -> codec.read(Failures.class, stored.replace('\'', '"')));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{}",
                "{'reason':'EXITED'}",
                "{'at':'2026-01-02T12:00:00Z'}",
                "{'reason':'EXITED','at':null}",
                "{'reason':'ABDUCTED','at':'2026-01-02T12:00:00Z'}",
                "{'reason':'EXITED','at':'2026-01-02T12:00:00Z','code':true}",
            })
    void anExitNeedsAReasonAndATime(String stored) {
        assertThrows(IllegalArgumentException.class, () -> codec.read(Exit.class, stored.replace('\'', '"')));
    }

    @Test
    void whatIsNullIsLeftOut() {
        assertEquals(
                Failures.NONE,
                codec.read(Failures.class, "{\"count\":null,\"last\":null,\"error\":null,\"fatal\":null}"));
    }

    @Test
    void aComponentThatCantBeReadIsLostAlone() {
        List<String> lost = new ArrayList<>();

        Failures read = codec.read(
                Failures.class,
                "{\"count\":\"2\",\"last\":\"noon\",\"error\":\"no\",\"fatal\":true}",
                (part, e) -> lost.add(part));

        assertEquals(new Failures(0, null, "no", true), read);
        assertEquals(List.of("count", "last"), lost);
    }

    @Test
    void aTextThatIsNoObjectIsLostAsAWhole() {
        List<String> lost = new ArrayList<>();

        assertEquals(Failures.NONE, codec.read(Failures.class, "[]", (part, e) -> lost.add(part)));
        assertEquals(Failures.NONE, codec.read(Failures.class, "{", (part, e) -> lost.add(part)));
        assertEquals(List.of("all", "all"), lost);
    }
}
