package io.homeostat.controlplane;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.rpc.Code;
import com.google.rpc.Status;
import io.homeostat.controlplane.Transcript.Entry;
import io.homeostat.proto.acs.MessageBody;
import io.homeostat.proto.acs.MessageResponse;
import io.homeostat.proto.acs.RegisterConnection;
import io.homeostat.proto.acs.StreamAgentMessagesRequest;
import io.homeostat.proto.acs.StreamAgentMessagesResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import org.junit.jupiter.api.Test;

final class ProtocolRulesTest {
    private static final Caller CALLER = new Caller("", "projects/1/zones/z/instances/1", "channel");
    private static final String M1 = UUID.randomUUID().toString();
    private static final String M2 = UUID.randomUUID().toString();
    private static final MessageBody BODY = Bodies.getAgentInfo();

    private final List<Entry> entries = new ArrayList<>();

    @Test
    void anAgentThatKeepsThemHasNoViolations() {
        registered(1, 0);
        said(1, 100, "request", BODY);
        acknowledgedByAgent(1, 200, "request");
        heard(1, 300, M1, BODY);
        heard(1, 2_310, M1, BODY);
        acknowledged(1, 2_320, M1, Code.OK);
        heard(1, 2_400, M2, BODY);
        acknowledged(1, 2_410, M2, Code.RESOURCE_EXHAUSTED);
        heard(1, 2_700, M2, BODY);
        ended(1, 2_800);
        registered(2, 3_000);
        heard(2, 3_010, M2, BODY);
        acknowledged(2, 3_020, M2, Code.OK);
        assertEquals(List.of(), violations(60_000));
    }

    @Test
    void theFirstMessageRegisters() {
        opened(1, 0);
        heard(1, 1, M1, BODY);
        violated("before the registration was accepted");
    }

    @Test
    void nothingIsSaidBeforeTheRegistrationIsAccepted() {
        opened(1, 0);
        register(1, 1, UUID.randomUUID().toString(), 0, CALLER);
        heard(1, 2, M1, BODY);
        violated("before the registration was accepted");
    }

    @Test
    void anAgentRegistersOnceWithAFreshUuidAndWhatItsMetadataSay() {
        registered(1, 0);
        register(1, 10, "again", 1, new Caller("", "another", "channel"));
        assertEquals(4, violations(10).size(), violations(10)::toString);
    }

    @Test
    void eachMessageIsAcknowledgedOnItsOwnStreamAndNotMoreOften() {
        registered(1, 0);
        said(1, 10, "one", BODY);
        assertEquals(List.of(), violations(5_000));
        violated("'one' was not acknowledged");
        acknowledgedByAgent(1, 20, "one");
        assertEquals(List.of(), violations(60_000));
        acknowledgedByAgent(1, 30, "one");
        violated("'one' is acknowledged more often");
    }

    @Test
    void whatIsUnacknowledgedIsRepeatedAndNotTooEarly() {
        registered(1, 0);
        heard(1, 10, M1, BODY);
        assertEquals(List.of(), violations(12_000));
        violated("was not repeated");
        heard(1, 1_500, M1, BODY);
        violated("was repeated too early");
    }

    @Test
    void oneRepetitionMayFollowAtOnceOnABusyMachineAndNotSeveral() {
        registered(1, 0);
        heard(1, 3_000, M1, BODY);
        heard(1, 3_010, M1, BODY);
        assertEquals(List.of(), ProtocolRules.violations(entries, at(3_010)));
        heard(1, 5_000, M1, BODY);
        assertEquals(List.of(), ProtocolRules.violations(entries, at(5_000)));
        heard(1, 5_500, M1, BODY);
        assertEquals(1, ProtocolRules.violations(entries, at(5_500)).size());
    }

    @Test
    void afterResourceExhaustedItIsNotRepeatedAtOnce() {
        registered(1, 0);
        heard(1, 10, M1, BODY);
        acknowledged(1, 1_000, M1, Code.RESOURCE_EXHAUSTED);
        heard(1, 1_010, M1, BODY);
        assertEquals(
                1,
                ProtocolRules.violations(entries, at(1_010), Duration.ofMillis(100), Duration.ofSeconds(10))
                        .size());
    }

    @Test
    void whatIsAcknowledgedIsNotRepeatedUnlessTheAcknowledgementMayBeLost() {
        registered(1, 0);
        heard(1, 10, M1, BODY);
        acknowledged(1, 20, M1, Code.OK);
        ended(1, 30);
        registered(2, 100);
        heard(2, 15_000, M1, BODY);
        assertEquals(List.of(), violations(15_000));
        acknowledged(2, 15_010, M1, Code.OK);
        heard(2, 30_000, M1, BODY);
        violated("although it was acknowledged");
    }

    @Test
    void whatIsAnsweredWithAnErrorMayBeTriedAgainOrNot() {
        registered(1, 0);
        heard(1, 10, M1, BODY);
        acknowledged(1, 20, M1, Code.UNAVAILABLE);
        heard(1, 15_000, M1, BODY);
        acknowledged(1, 15_010, M1, Code.INVALID_ARGUMENT);
        assertEquals(List.of(), violations(60_000));
    }

    @Test
    void aRepetitionHasTheSameContent() {
        registered(1, 0);
        heard(1, 10, M1, BODY);
        heard(1, 2_100, M1, Bodies.getOsInfo());
        violated("with another content");
    }

    @Test
    void aRateIsKeptWhenABucketOfItNeverRunsEmpty() {
        registered(1, 0);
        for (int i = 0; i < 20; i++) {
            heard(1, 1_000L * i, UUID.randomUUID().toString(), BODY);
        }
        assertEquals(Optional.empty(), ProtocolRules.messagesAbove(entries, 1, 60, 2));
        assertTrue(ProtocolRules.messagesAbove(entries, 1, 30, 2).isPresent());
        int size = 20 * 1_000;
        assertEquals(Optional.empty(), ProtocolRules.bytesAbove(entries, 1, size, size));
        assertTrue(ProtocolRules.bytesAbove(entries, 1, 60, 300).isPresent());
        assertEquals(Optional.empty(), ProtocolRules.messagesAbove(entries, 2, 1, 1));
    }

    private List<String> violations(long now) {
        return ProtocolRules.violations(entries, at(now), Duration.ofMillis(300), Duration.ofSeconds(10));
    }

    private void violated(String how) {
        List<String> violations = violations(60_000);
        assertTrue(violations.stream().anyMatch(violation -> violation.contains(how)), violations::toString);
    }

    private void registered(int connection, long at) {
        String id = UUID.randomUUID().toString();
        opened(connection, at);
        register(connection, at, id, 0, CALLER);
        acknowledged(connection, at, id, Code.OK);
    }

    private void opened(int connection, long at) {
        entries.add(new Entry.Opened(connection, at(at), CALLER));
    }

    private void register(int connection, long at, String id, int version, Caller as) {
        entries.add(new Entry.Heard(
                connection,
                at(at),
                request(id)
                        .setRegisterConnection(RegisterConnection.newBuilder()
                                .setProtocolVersion(version)
                                .setChannelId(as.channel())
                                .setResourceId(as.resource()))
                        .build()));
    }

    private void heard(int connection, long at, String id, MessageBody body) {
        entries.add(new Entry.Heard(
                connection, at(at), request(id).setMessageBody(body).build()));
    }

    private void acknowledgedByAgent(int connection, long at, String id) {
        entries.add(new Entry.Heard(
                connection,
                at(at),
                request(id)
                        .setMessageResponse(MessageResponse.getDefaultInstance())
                        .build()));
    }

    private void said(int connection, long at, String id, MessageBody body) {
        entries.add(new Entry.Said(
                connection, at(at), response(id).setMessageBody(body).build()));
    }

    private void acknowledged(int connection, long at, String id, Code code) {
        Status status = Status.newBuilder().setCode(code.getNumber()).build();
        entries.add(new Entry.Said(
                connection,
                at(at),
                response(id)
                        .setMessageResponse(MessageResponse.newBuilder().setStatus(status))
                        .build()));
    }

    private void ended(int connection, long at) {
        entries.add(new Entry.Ended(connection, at(at), io.grpc.Status.OK));
    }

    private static StreamAgentMessagesRequest.Builder request(String id) {
        return StreamAgentMessagesRequest.newBuilder().setMessageId(id);
    }

    private static StreamAgentMessagesResponse.Builder response(String id) {
        return StreamAgentMessagesResponse.newBuilder().setMessageId(id);
    }

    private static Duration at(long millis) {
        return Duration.ofMillis(millis);
    }
}
