package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.Duration;
import io.homeostat.controlplane.Bodies;
import io.homeostat.controlplane.Sent;
import io.homeostat.e2e.BrokenServer.End;
import io.homeostat.e2e.Bucket.Stored;
import io.homeostat.proto.acp.AgentInfo;
import io.homeostat.proto.acp.ConfigurePluginStates.ConfigurePlugin;
import io.homeostat.proto.acp.ConfigurePluginStates.Manifest;
import io.homeostat.proto.acp.CurrentPluginStates;
import io.homeostat.proto.acp.CurrentPluginStates.DaemonPluginState;
import io.homeostat.proto.acp.CurrentPluginStates.StatusValue;
import io.homeostat.proto.acp.OSInfo;
import io.homeostat.proto.acp.PluginEventMessage.PluginEventType;
import io.homeostat.proto.acs.MessageBody;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.parallel.ResourceLock;

/**
 * What the reference agent gets wrong with messages of a control plane, by the numbers of e2e/README.md: one agent for all tests, which
 * some of them kill.
 */
@ResourceLock("the agent of ControlPlaneTest")
final class ControlPlaneTest {
    @RegisterExtension
    static final Commanded COMMANDED = Commanded.inProcess();

    private Stored archive;

    @BeforeEach
    void stock() {
        archive = COMMANDED.bucket().put("greeter.tar.gz", Bucket.greeter());
    }

    @AfterEach
    void theProtocolWasKeptAndNoEventWasWithoutText() {
        assertEquals(List.of(), COMMANDED.plane().transcript().violations());
        COMMANDED
                .plane()
                .transcript()
                .events()
                .forEach(event -> assertFalse(event.getEventDetails().isEmpty(), event::toString));
    }

    @Test
    void theAgentSaysWhoItIsAndWhereWithAllLabelsOfTheRequest() throws Exception {
        MessageBody agent = COMMANDED
                .plane()
                .ask(Bodies.withoutSlash(Bodies.labelled(Bodies.getAgentInfo(), "trace", "7")))
                .awaitReply(Patience.LONGEST);
        MessageBody os = COMMANDED.plane().ask(Bodies.getOsInfo()).awaitReply(Patience.LONGEST);

        assertEquals("AgentInfo", Bodies.type(agent));
        assertEquals("7", agent.getLabelsOrThrow("trace"));
        assertFalse(Bodies.read(agent, AgentInfo.parser()).getVersion().isEmpty());
        assertEquals("OSInfo", Bodies.type(os));
        assertEquals("linux", Bodies.read(os, OSInfo.parser()).getType());
    }

    @Test
    void row2AFailedUpgradeLeavesTheOldRevisionRunningAndBothAreReported() throws Exception {
        installed("row2");
        COMMANDED.configure(Items.once(greeter("row2", "2", "--fault=start-error")));

        COMMANDED.awaitEvents(
                "row2",
                "CONFIG_INSTALL 2",
                "CONFIG_REMOVE 1",
                "STOPPED 1",
                "REMOVED 1",
                "START_FAILED 2",
                "INSTALL_FAILED 2",
                "STARTED 1");
        COMMANDED.awaitRunning("row2", "1");
        DaemonPluginState state = COMMANDED.awaitState(
                "row2", seen -> !seen.getPendingRevisionId().isEmpty());
        assertEquals("2", state.getPendingRevisionId());
        assertEquals(StatusValue.INSTALL_FAILED, state.getPendingPluginStatus().getStatus());
        assertTrue(
                state.getPendingPluginStatus().getResultsList().toString().contains("told to refuse Start"),
                state::toString);
    }

    @Test
    void row3ARequestThatArrivesWhileAnotherIsInProgressIsNotLost() throws Exception {
        try (BrokenServer one = stuck(3);
                BrokenServer other = stuck(4)) {
            COMMANDED.configure(greeterFrom(one, "row3-removed", 3), greeterFrom(other, "row3-replaced", 4));
            eventually().until(() -> !one.served().isEmpty() && !other.served().isEmpty());

            COMMANDED.configure(Items.remove("row3-removed", "1"), greeter("row3-replaced", "2"));

            COMMANDED.awaitEvents("row3-removed", "CONFIG_INSTALL 1", "CONFIG_REMOVE 1", "REMOVED 1");
            COMMANDED.awaitRunning("row3-replaced", "2");
            assertTrue(COMMANDED.state("row3-removed").isEmpty());
        }
    }

    @Test
    void row3And7WhatArrivesBeforeStartUpIsOverIsDoneAndAnsweredInFull() throws Exception {
        installed("row7");
        COMMANDED.process().kill();
        Sent removal = COMMANDED.plane().send(Bodies.configure(Items.remove("row3-early", "1")));
        Sent request = COMMANDED.plane().ask(Bodies.listPluginStates());

        COMMANDED.startAgent();

        CurrentPluginStates states = Bodies.read(request.awaitReply(Patience.LONGEST), CurrentPluginStates.parser());
        assertTrue(
                states.getDaemonPluginStatesList().stream()
                        .anyMatch(state -> state.getName().equals("row7")
                                && state.getCurrentPluginStatus().getStatus() == StatusValue.RUNNING),
                states::toString);
        assertEquals(0, removal.awaitAcknowledgement(Patience.LONGEST).getCode());
        COMMANDED.awaitEvents("row3-early", "REMOVE_FAILED 1");
    }

    @Test
    void row4AnUnsetAttemptCountEndsInAFailureAfterWhichOtherRequestsAreServed() throws Exception {
        COMMANDED.configure(greeter("row4", "1", "--fault=exit-at-once"));

        COMMANDED.awaitEvents("row4", "CONFIG_INSTALL 1", "START_FAILED 1", "INSTALL_FAILED 1");
        COMMANDED.configure(greeter("row4", "2"));
        COMMANDED.awaitEvents("row4", "CONFIG_INSTALL 2", "STARTED 2", "INSTALLED 2");
    }

    @Test
    void row6TheConfigHashIsThatOfTheConfigurationThatThePluginHas() throws Exception {
        COMMANDED.configure(
                Items.with(greeter("row6", "1", "--fault=apply-error"), manifest -> manifest.setStringConfig("first")));
        COMMANDED.awaitEvents("row6", "CONFIG_INSTALL 1", "STARTED 1", "INSTALLED 1");
        String first = Hashes.sha256("first".getBytes(StandardCharsets.UTF_8));
        COMMANDED.awaitState("row6", state -> state.getConfigHash().equals(first));

        COMMANDED.configure(Items.apply("row6", "1", "second"));

        COMMANDED.awaitEvents("row6", "CONFIG_APPLY 1", "CONFIG_APPLY_FAILED 1");
        assertEquals(first, COMMANDED.state("row6").orElseThrow().getConfigHash());
    }

    @Test
    void row9And15OtherArgumentsOfTheSameRevisionTakeEffectAndAnUnsetStopTimeoutDeliversStop() throws Exception {
        installed("row9");

        COMMANDED.configure(greeter("row9", "1", "--verbose"));

        COMMANDED.awaitEvents("row9", "CONFIG_INSTALL 1", "STOPPED 1", "STARTED 1", "INSTALLED 1");
        List<Processes.Seen> alive = COMMANDED.homeostat().processes("plugin/row9");
        assertTrue(alive.getFirst().command().contains("--verbose"), alive::toString);
        COMMANDED.homeostat().run("logs", "plugin/row9").says("Stop cleanup=false");
    }

    @Test
    void row14NoEventAndNoFileHasTheSignatureOfAnAddress() throws Exception {
        Stored expired = COMMANDED.bucket().put("expired.tar.gz", uncached(14));
        COMMANDED.bucket().expire(expired);
        COMMANDED.homeostat().keepsSecret(expired.signature());

        COMMANDED.configure(Items.once(Items.greeter("row14", "1", COMMANDED.bucket(), expired)));

        COMMANDED.awaitEvents("row14", "CONFIG_INSTALL 1", "INSTALL_FAILED 1");
        String details = COMMANDED
                .plane()
                .transcript()
                .events("row14")
                .getLast()
                .getEventDetails()
                .toStringUtf8();
        assertTrue(details.contains("403"), details);
        assertFalse(details.contains(expired.signature()), details);
        assertFalse(COMMANDED.states().toString().contains(expired.signature()));
    }

    @Tag("nightly")
    @Test
    void row16APluginThatNeverListensDelaysNoOther() throws Exception {
        COMMANDED.configure(greeter("row16-slow", "1", "--fault=never-listen"), greeter("row16-quick", "1"));

        COMMANDED.awaitRunning("row16-quick", "1");
        assertEquals(List.of("CONFIG_INSTALL 1"), COMMANDED.plane().transcript().story("row16-slow"));
        COMMANDED.configure(Items.remove("row16-slow", "1"));
        eventually().until(() -> COMMANDED.state("row16-slow").isEmpty());
    }

    @Tag("nightly")
    @Test
    void anyNameAndRevisionIsInstalledAddressedAndRemoved() throws Exception {
        String name = "../ops agent+" + "x".repeat(70);
        String revision = "1.2+3:rc/" + "r".repeat(80);
        COMMANDED.configure(greeter(name, revision));

        COMMANDED.awaitEvents(name, "CONFIG_INSTALL " + revision, "STARTED " + revision, "INSTALLED " + revision);
        COMMANDED.awaitRunning(name, revision);
        String word = "plugin/..%2Fops%20agent+" + "x".repeat(70);
        COMMANDED.homeostat().run("status", word).exits(0).says(word).says(revision);
        COMMANDED.homeostat().run("logs", "plugin/" + name).exits(0);

        COMMANDED.configure(Items.remove(name, revision));
        COMMANDED.awaitEvents(name, "CONFIG_REMOVE " + revision, "STOPPED " + revision, "REMOVED " + revision);
    }

    @Tag("nightly")
    @Test
    void aNameOfAHundredThousandCharactersIsAsGoodAsAnyOther() throws Exception {
        String name = "ops agent/" + "n ".repeat(50_000);
        String first = "1+" + "r".repeat(50_000);
        String second = "2+" + "r".repeat(50_000);
        COMMANDED.configure(greeter(name, first));
        COMMANDED.awaitEvents(name, "CONFIG_INSTALL " + first, "STARTED " + first, "INSTALLED " + first);
        COMMANDED.awaitRunning(name, first);
        COMMANDED
                .homeostat()
                .run("status", "plugin/" + name, "-o", "json")
                .exits(0)
                .says(name);
        COMMANDED.homeostat().run("status", "plugin/" + name).exits(0).says(first);

        Processes.Seen alive = COMMANDED.homeostat().everyProcess().stream()
                .filter(process ->
                        process.workload().startsWith("plugin/ops%20agent%2Fn%20n%20") && !process.isKeeper())
                .findFirst()
                .orElseThrow();
        Processes.kill(alive.pid());
        COMMANDED.awaitEvents(name, "CRASHED " + first, "STARTED " + first);
        COMMANDED.awaitRunning(name, first);

        COMMANDED.configure(greeter(name, second));
        COMMANDED.awaitEvents(
                name,
                "CONFIG_INSTALL " + second,
                "CONFIG_REMOVE " + first,
                "STOPPED " + first,
                "REMOVED " + first,
                "STARTED " + second,
                "INSTALLED " + second);
        COMMANDED.awaitRunning(name, second);

        COMMANDED.configure(Items.apply(name, second, "hi"));
        COMMANDED.awaitEvents(name, "CONFIG_APPLY " + second, "CONFIG_APPLIED " + second);

        COMMANDED.configure(Items.remove(name, second));
        COMMANDED.awaitEvents(name, "CONFIG_REMOVE " + second, "STOPPED " + second, "REMOVED " + second);
        assertTrue(COMMANDED.state(name).isEmpty());
    }

    @Test
    void whatAPluginWroteToItsLogOfErrorsIsInTheEventOfItsCrashAndInLogs() throws Exception {
        COMMANDED.configure(greeter("errors", "1", "--fault=crash-after=1"));

        String details = COMMANDED
                .plane()
                .transcript()
                .await(
                        "the crash",
                        Patience.LONGEST,
                        happened -> happened.events("errors").stream()
                                .filter(event -> event.getEventType() == PluginEventType.PLUGIN_CRASHED)
                                .findFirst())
                .getEventDetails()
                .toStringUtf8();

        assertTrue(details.contains("errors.log:\n"), details);
        String lastWords = details.substring(details.indexOf("errors.log:\n") + "errors.log:\n".length());
        assertFalse(lastWords.isBlank(), details);
        COMMANDED.homeostat().run("logs", "plugin/errors").exits(0).says(lastWords + "\n");
        COMMANDED.configure(Items.remove("errors", "1"));
        eventually().until(() -> COMMANDED.state("errors").isEmpty());
    }

    @Tag("nightly")
    @Test
    void aPluginThatIsBeingStoppedIsSaidToBeStopping() throws Exception {
        UnaryOperator<Manifest.Builder> patient =
                manifest -> manifest.setStopTimeout(Duration.newBuilder().setSeconds(10));
        COMMANDED.configure(Items.with(greeter("stopping", "1", "--fault=ignore-stop"), patient));
        COMMANDED.awaitRunning("stopping", "1");

        COMMANDED.configure(Items.with(greeter("stopping", "2"), patient));

        DaemonPluginState state = COMMANDED.awaitState(
                "stopping", seen -> seen.getCurrentPluginStatus().getStatus() == StatusValue.STOPPING);
        assertEquals("1", state.getCurrentRevisionId());
        COMMANDED.awaitRunning("stopping", "2");
    }

    private void installed(String name) throws InterruptedException {
        COMMANDED.configure(greeter(name, "1"));
        COMMANDED.awaitEvents(name, "CONFIG_INSTALL 1", "STARTED 1", "INSTALLED 1");
        COMMANDED.awaitRunning(name, "1");
    }

    private ConfigurePlugin greeter(String name, String revision, String... arguments) {
        return Items.greeter(name, revision, COMMANDED.bucket(), archive, arguments);
    }

    private static ConfigurePlugin greeterFrom(BrokenServer server, String name, int number) {
        return Items.greeter(name, "1", server.url(name + ".tar.gz"), Hashes.sha256(uncached(number)));
    }

    private static BrokenServer stuck(int number) {
        return new BrokenServer(uncached(number), End.NEVER, End.NEVER, End.NEVER);
    }

    /** The archive with other bytes: one that is known by its hash is not fetched again. */
    private static byte[] uncached(int number) {
        return TarGz.repacked(Bucket.greeter(), number);
    }
}
