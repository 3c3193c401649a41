package io.homeostat.desired.channel;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Status;
import io.homeostat.controlplane.AnswerPolicy;
import io.homeostat.controlplane.Transcript.Entry;
import io.homeostat.desired.model.AgentConfig.Identity;
import io.homeostat.desired.model.AgentConfig.Identity.TokenFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Who the agent says it is, and how it proves it. */
class IdentityTest {
    @TempDir
    private Path directory;

    private ChannelBench bench;

    @BeforeEach
    void listen() throws Exception {
        bench = new ChannelBench(directory);
    }

    @AfterEach
    void close() throws Exception {
        bench.close();
    }

    @Test
    void theResourceComesFromTheMetadataServer() throws Exception {
        bench.metadata.set("instance/id", "4711");
        bench.metadata.set("instance/zone", "projects/17/zones/europe-west1-b");
        bench.metadata.set("project/numeric-project-id", "17");
        bench.resource = null;
        bench.open();

        assertEquals(
                "projects/17/zones/europe-west1-b/instances/4711",
                bench.controlPlane
                        .awaitConnection(ChannelBench.PATIENCE)
                        .caller()
                        .resource());
    }

    @Test
    void aMetadataServerThatIsAwayIsAskedAgainAndNamed() throws Exception {
        bench.metadata.fail(503);
        bench.resource = null;
        bench.open();
        await().atMost(ChannelBench.PATIENCE).until(() -> error().contains("metadata server " + bench.metadata.host()));
        assertTrue(error().contains("set sources.controlPlane.resource"), error());

        bench.metadata.fail(200);
        bench.controlPlane.awaitConnection(ChannelBench.PATIENCE);
    }

    @Test
    void nothingIsSaidForAnInstanceBeforeTheMetadataServerHasConfirmedThatThisIsIt() throws Exception {
        bench.metadata.set("instance/id", "202");
        bench.resource = null;
        bench.instance = "101";
        bench.open();
        var event = bench.channel().send(ChannelBench.body("of 101"));
        await().atMost(ChannelBench.PATIENCE)
                .until(() ->
                        error().startsWith("this is instance 202, and the state it goes by is that of instance 101"));
        assertTrue(error().contains("Restart the machine"), error());
        assertTrue(bench.controlPlane.transcript().entries().isEmpty());
        assertFalse(event.isDone());

        bench.metadata.set("instance/id", "101");
        assertTrue(bench.controlPlane
                .awaitConnection(ChannelBench.PATIENCE)
                .caller()
                .resource()
                .endsWith("/instances/101"));
    }

    @Test
    void aConfiguredResourceIsNobodysToConfirm() throws Exception {
        bench.metadata.set("instance/id", "202");
        bench.instance = "101";
        bench.open();

        assertEquals(
                ChannelBench.RESOURCE,
                bench.controlPlane
                        .awaitConnection(ChannelBench.PATIENCE)
                        .caller()
                        .resource());
        assertEquals(List.of(), bench.metadata.asked());
    }

    @Test
    void aMetadataServerThatKnowsNoUsableZoneIsNoReasonToSayNonsense() throws Exception {
        bench.metadata.set("instance/zone", "a zone\nwith a line");
        bench.resource = null;
        bench.open();

        await().atMost(ChannelBench.PATIENCE).until(() -> error().contains("no usable instance/zone"));
        assertTrue(bench.controlPlane.transcript().entries().isEmpty());
    }

    @Test
    void theTokenOfTheMetadataServerIsShownAsBearer() throws Exception {
        bench.identity = Identity.Known.METADATA;
        bench.open();
        var caller = bench.controlPlane.awaitConnection(ChannelBench.PATIENCE).caller();

        assertTrue(caller.authentication().startsWith("Bearer ey"), caller.authentication());
        assertEquals(
                List.of("instance/service-accounts/default/identity"
                        + "?audience=agentcommunication.googleapis.com&format=full"),
                bench.metadata.asked());
    }

    @Test
    void aTokenIsUsedAgainUntilItIsRefused() throws Exception {
        bench.identity = Identity.Known.METADATA;
        bench.controlPlane
                .script()
                .registrations(AnswerPolicy.end(Status.UNAVAILABLE).times(2, AnswerPolicy.acknowledge()));
        bench.open();
        var first = bench.controlPlane.awaitConnection(ChannelBench.PATIENCE);
        assertEquals(1, bench.metadata.tokensAsked());

        String refused = first.caller().token();
        bench.controlPlane.script().callers(caller -> !caller.token().equals(refused));
        first.end(Status.UNAVAILABLE);
        await().atMost(ChannelBench.PATIENCE)
                .until(() -> bench.controlPlane
                        .connection()
                        .filter(open -> open.number() > first.number())
                        .isPresent());
        assertEquals(2, bench.metadata.tokensAsked());
        assertTrue(error().startsWith("the control plane does not accept our identity: UNAUTHENTICATED"), error());
    }

    @Test
    void aTokenFileIsReadAnewForEachConnection() throws Exception {
        Path file = directory.resolve("token");
        bench.identity = new TokenFile(file.toString());
        bench.open();
        await().atMost(ChannelBench.PATIENCE)
                .until(() -> error().contains("could not read the identity token in " + file));
        Files.writeString(file, "two words\n");
        await().atMost(ChannelBench.PATIENCE).until(() -> error().contains("is not an identity token"));
        assertFalse(error().contains("two words"), error());

        Files.writeString(file, "one\n");
        var first = bench.controlPlane.awaitConnection(ChannelBench.PATIENCE);
        assertEquals("Bearer one", first.caller().authentication());

        Files.writeString(file, "two\n");
        first.end(Status.UNAVAILABLE);
        await().atMost(ChannelBench.PATIENCE)
                .until(() -> bench.controlPlane.transcript().entries(Entry.Opened.class).stream()
                        .anyMatch(opened -> opened.caller().token().equals("two")));
    }

    @Test
    void aTokenThatTheOtherSideQuotesIsNotShown() throws Exception {
        bench.identity = new TokenFile(
                Files.writeString(directory.resolve("token"), "s3cr3t").toString());
        bench.controlPlane
                .script()
                .registrations(AnswerPolicy.end(Status.PERMISSION_DENIED.withDescription("who is s3cr3t?")));
        bench.open();

        await().atMost(ChannelBench.PATIENCE).until(() -> !error().isEmpty());
        assertEquals("the control plane refuses the connection: PERMISSION_DENIED: who is ...?", error());
    }

    private String error() {
        return bench.channel().status().lastError();
    }
}
