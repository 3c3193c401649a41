package io.homeostat.controlplane;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import com.google.rpc.Code;
import io.grpc.Status;
import io.homeostat.proto.acs.MessageBody;
import io.homeostat.proto.acs.StreamAgentMessagesResponse;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class FakeControlPlaneTest {
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    @TempDir
    private Path directory;

    private FakeControlPlane plane;

    @BeforeEach
    void start() throws Exception {
        plane = FakeControlPlane.onUnixSocket(directory.resolve("acs.sock"));
    }

    @AfterEach
    void end() throws Exception {
        plane.close();
    }

    @Test
    void acknowledgesWhatItHears() throws Exception {
        try (FakeAgent agent = FakeAgent.registered(plane)) {
            plane.awaitConnection(PATIENCE);
            agent.send("m1", Bodies.getAgentInfo());
            await().atMost(PATIENCE).until(() -> agent.heard().size() == 2);
            assertEquals("m1", agent.heard().get(1).getMessageId());
            assertTrue(agent.heard().get(1).hasMessageResponse());
            assertFalse(agent.heard().get(1).getMessageResponse().hasStatus());
            assertEquals(List.of(Bodies.getAgentInfo()), plane.transcript().bodies());
        }
    }

    @Test
    void sendsAgainOverTheNextStreamWhatWasNotAcknowledged() throws Exception {
        Sent sent = plane.send(Bodies.listPluginStates());
        try (FakeAgent agent = FakeAgent.registered(plane)) {
            await().atMost(PATIENCE).until(() -> agent.heard().size() == 2);
            plane.connection().orElseThrow().end(Status.UNAVAILABLE);
            assertEquals(
                    Status.Code.UNAVAILABLE,
                    agent.ended().get(30, TimeUnit.SECONDS).getCode());
        }
        try (FakeAgent agent = FakeAgent.registered(plane)) {
            await().atMost(PATIENCE).until(() -> agent.heard().size() == 2);
            assertEquals(sent.id(), agent.heard().get(1).getMessageId());
            agent.acknowledge(sent.id());
            assertTrue(Script.isOk(sent.awaitAcknowledgement(PATIENCE)));
        }
        try (FakeAgent agent = FakeAgent.registered(plane)) {
            plane.awaitConnection(PATIENCE);
            plane.send(Bodies.getAgentInfo());
            await().atMost(PATIENCE).until(() -> agent.heard().size() == 2);
            assertEquals("GetAgentInfo", Bodies.type(agent.heard().get(1).getMessageBody()));
        }
    }

    @Test
    void knowsAReplyByItsRequestId() throws Exception {
        try (FakeAgent agent = FakeAgent.registered(plane)) {
            Sent asked = plane.ask(Bodies.getAgentInfo());
            await().atMost(PATIENCE).until(() -> agent.heard().size() == 2);
            MessageBody request = agent.heard().get(1).getMessageBody();
            MessageBody reply = Bodies.labelled(request, Bodies.MESSAGE_TYPE, "agent_controlplane.AgentInfo");
            agent.send("other", Bodies.labelled(reply, Bodies.REQUEST_ID, "another"));
            agent.send("reply", reply);
            assertEquals(reply, asked.awaitReply(PATIENCE));
        }
    }

    @Test
    void ignoresUntilAMessageComesOften() throws Exception {
        plane.script().messages(AnswerPolicy.acknowledgeFromDelivery(3));
        try (FakeAgent agent = FakeAgent.registered(plane)) {
            for (int i = 0; i < 2; i++) {
                agent.send("m1", Bodies.getAgentInfo());
                agent.send("m2", Bodies.getAgentInfo());
            }
            agent.send("m2", Bodies.getAgentInfo());
            await().atMost(PATIENCE).until(() -> agent.heard().size() == 2);
            assertEquals("m2", agent.heard().get(1).getMessageId());
        }
    }

    @Test
    void refusesMessagesForAWhile() throws Exception {
        plane.script()
                .messages(AnswerPolicy.refuse(Code.RESOURCE_EXHAUSTED, "slow down")
                        .times(1, AnswerPolicy.acknowledge()));
        try (FakeAgent agent = FakeAgent.registered(plane)) {
            agent.send("m1", Bodies.getAgentInfo());
            agent.send("m1", Bodies.getAgentInfo());
            await().atMost(PATIENCE).until(() -> agent.heard().size() == 3);
            assertEquals(
                    Code.RESOURCE_EXHAUSTED_VALUE,
                    agent.heard().get(1).getMessageResponse().getStatus().getCode());
            assertFalse(agent.heard().get(2).getMessageResponse().hasStatus());
        }
    }

    @Test
    void refusesARegistrationAndEndsItsStream() throws Exception {
        plane.script().registrations(AnswerPolicy.refuse(Code.PERMISSION_DENIED, "not this one"));
        try (FakeAgent agent = FakeAgent.registered(plane)) {
            assertEquals(
                    Status.Code.FAILED_PRECONDITION,
                    agent.ended().get(30, TimeUnit.SECONDS).getCode());
            assertEquals(1, agent.heard().size());
            assertTrue(plane.connection().isEmpty());
        }
    }

    @Test
    void refusesCallersWithoutTheirMetadata() throws Exception {
        plane.script().callers(caller -> caller.token().equals("good"));
        for (String authentication : List.of("Bearer good", "Bearer bad", "good", "")) {
            try (FakeAgent agent = new FakeAgent(FakeAgent.channel(plane), FakeAgent.RESOURCE, authentication)) {
                agent.register();
                if (authentication.equals("Bearer good")) {
                    plane.awaitConnection(PATIENCE);
                } else {
                    assertEquals(
                            Status.Code.UNAUTHENTICATED,
                            agent.ended().get(30, TimeUnit.SECONDS).getCode());
                }
            }
        }
        try (FakeAgent agent = new FakeAgent(FakeAgent.channel(plane), "", "Bearer good")) {
            assertEquals(
                    Status.Code.INVALID_ARGUMENT,
                    agent.ended().get(30, TimeUnit.SECONDS).getCode());
        }
    }

    @Test
    void comesBackAtTheSameAddress() throws Exception {
        String endpoint = plane.endpoint();
        try (FakeAgent agent = FakeAgent.registered(plane)) {
            plane.awaitConnection(PATIENCE);
            plane.goAway();
            assertFalse(agent.ended().get(30, TimeUnit.SECONDS).isOk());
            assertTrue(plane.connection().isEmpty());
        }
        try (FakeAgent agent = FakeAgent.registered(plane)) {
            assertEquals(
                    Status.Code.UNAVAILABLE,
                    agent.ended().get(30, TimeUnit.SECONDS).getCode());
        }
        plane.comeBack();
        assertEquals(endpoint, plane.endpoint());
        try (FakeAgent _ = FakeAgent.registered(plane)) {
            plane.awaitConnection(PATIENCE);
        }
    }

    @Test
    void sendsDuplicatesAndBytesThatAreNoMessage() throws Exception {
        try (FakeAgent agent = FakeAgent.registered(plane)) {
            Connection connection = plane.awaitConnection(PATIENCE);
            Sent sent = plane.send(Bodies.withoutSlash(Bodies.getOsInfo()));
            connection.send(sent);
            await().atMost(PATIENCE).until(() -> agent.heard().size() == 3);
            StreamAgentMessagesResponse first = agent.heard().get(1);
            assertEquals(first, agent.heard().get(2));
            assertEquals(
                    "agent_controlplane.GetOSInfo",
                    first.getMessageBody().getBody().getTypeUrl());
            connection.sendBytes(ByteString.copyFromUtf8("\u0007 no message"));
            assertFalse(agent.ended().get(30, TimeUnit.SECONDS).isOk());
        }
    }

    @Test
    void tellsWhatItWaitedFor() {
        AssertionError error = assertThrows(AssertionError.class, () -> plane.awaitConnection(Duration.ofMillis(1)));
        assertTrue(error.toString().contains("an agent that registers"), error::toString);
    }
}
