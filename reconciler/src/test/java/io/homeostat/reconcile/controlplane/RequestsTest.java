package io.homeostat.reconcile.controlplane;

import static io.homeostat.reconcile.controlplane.Messages.install;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.protobuf.Any;
import com.google.protobuf.ByteString;
import com.google.protobuf.MessageLite;
import com.google.rpc.Code;
import com.google.rpc.Status;
import io.homeostat.desired.state.StoreException;
import io.homeostat.observe.host.Kernel;
import io.homeostat.observe.host.OsRelease;
import io.homeostat.proto.acp.AgentInfo;
import io.homeostat.proto.acp.AgentInfo.AgentCapability;
import io.homeostat.proto.acp.ConfigurePluginStates;
import io.homeostat.proto.acp.CurrentPluginStates;
import io.homeostat.proto.acp.GetAgentInfo;
import io.homeostat.proto.acp.GetOSInfo;
import io.homeostat.proto.acp.OSInfo;
import io.homeostat.proto.acs.MessageBody;
import io.homeostat.reconcile.HeardLog;
import java.nio.charset.StandardCharsets;
import java.time.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What is done with each kind of message, and with which status it is acknowledged. */
class RequestsTest {
    private final OpenChannel channel = new OpenChannel();
    private final List<String> accepted = new ArrayList<>();
    private boolean diskFull;
    private PluginStatesResponder states;
    private Requests requests;

    @BeforeEach
    void open() {
        ReplySender replies = new ReplySender(CompletableFuture.completedFuture(channel));
        states = new PluginStatesResponder(
                ImmutableList::of,
                findings -> new PluginStates.Answer(CurrentPluginStates.getDefaultInstance(), () -> {}),
                replies,
                Duration.ZERO);
        requests = new Requests(
                new SystemInfo("1.2.3", new OsRelease(), new Kernel(), "aarch64"),
                replies,
                states,
                items -> {
                    if (diskFull) {
                        throw new StoreException("cannot store in /var/lib/homeostat/homeostat.db: disk full");
                    }
                    items.forEach(item -> accepted.add(item.sent().getPlugin().getName()));
                },
                () -> new ConfigureItem.Rules(ImmutableSet.of(), false),
                Clock.systemUTC());
    }

    @AfterEach
    void close() {
        states.close();
    }

    @Test
    void theAgentIntroducesItselfWithAllLabelsOfTheRequest() throws Exception {
        assertOk(receive("GetAgentInfo", GetAgentInfo.getDefaultInstance(), Map.of("request_id", "r7", "x", "")));

        MessageBody reply = channel.sent().getFirst();
        assertEquals(
                Map.of("message_type", "agent_controlplane.AgentInfo", "request_id", "r7", "x", ""),
                reply.getLabelsMap());
        AgentInfo info = reply.getBody().unpack(AgentInfo.class);
        assertEquals("homeostat", info.getName());
        assertEquals("1.2.3", info.getVersion());
        assertEquals("arm64", info.getArchitecture());
        assertEquals(
                List.of(
                        AgentCapability.GET_AGENT_INFO,
                        AgentCapability.GET_OS_INFO,
                        AgentCapability.LIST_PLUGIN_STATES,
                        AgentCapability.CONFIGURE_PLUGIN_STATES,
                        AgentCapability.APPLY_PLUGIN_CONFIG),
                info.getAgentCapabilitiesList());
    }

    @Test
    void theOperatingSystemIsToldAsTheReferenceDoes() throws Exception {
        assertOk(receive("GetOSInfo", GetOSInfo.getDefaultInstance(), Map.of()));

        MessageBody reply = channel.sent().getFirst();
        assertEquals("agent_controlplane.OSInfo", type(reply));
        assertEquals(uname("-m"), reply.getBody().unpack(OSInfo.class).getArchitecture());
    }

    @Test
    void anythingIsAParseableTypeUrlForTheLabelSaysWhatItIs() {
        MessageBody.Builder message = body("ConfigurePluginStates", Messages.configure(install("a", "1")));
        message.getBodyBuilder().setTypeUrl("agent_controlplane.ConfigurePluginStates without a slash");

        assertOk(requests.receive("m1", message.build()));

        assertEquals(List.of("a"), accepted);
    }

    @Test
    void pluginsAreConfiguredWithoutAReply() {
        assertOk(receive("ConfigurePluginStates", Messages.configure(install("a", "1"), install("b", "1")), Map.of()));

        assertEquals(List.of("a", "b"), accepted);
        assertEquals(List.of(), channel.sent());
    }

    @Test
    void aRequestUnderAnIdThatCameBeforeIsTakenAllTheSame() {
        assertOk(receive("ConfigurePluginStates", Messages.configure(install("a", "1")), Map.of()));
        assertOk(receive("ConfigurePluginStates", Messages.configure(install("b", "1")), Map.of()));

        assertEquals(List.of("a", "b"), accepted);
    }

    @Test
    void aBodyThatIsNoMessageIsRefusedAndHasNoEffect() {
        for (String type : List.of("GetAgentInfo", "GetOSInfo", "ListPluginStates", "ConfigurePluginStates")) {
            MessageBody.Builder message = body(type, GetAgentInfo.getDefaultInstance());
            message.getBodyBuilder().setValue(ByteString.copyFrom(new byte[] {(byte) 0xff, (byte) 0xff, 1}));

            Status status = requests.receive("m1", message.build());

            assertEquals(Code.INVALID_ARGUMENT_VALUE, status.getCode(), type);
            assertTrue(status.getMessage().contains(type), status.getMessage());
        }
        assertEquals(List.of(), accepted);
        assertEquals(List.of(), channel.sent());
    }

    @Test
    void aBodyWithTooManyFieldsIsRefusedBeforeAnythingIsMadeOfIt() {
        // A field without content, of a number that none of these messages has.
        ByteString many = ByteString.copyFrom("\u007a\u0000".repeat(100_001), StandardCharsets.US_ASCII);
        for (String type : List.of("GetAgentInfo", "GetOSInfo", "ListPluginStates", "ConfigurePluginStates")) {
            MessageBody.Builder message = body(type, GetAgentInfo.getDefaultInstance());
            message.getBodyBuilder().setValue(many);

            Status status = requests.receive("m1", message.build());

            assertEquals(Code.INVALID_ARGUMENT_VALUE, status.getCode(), type);
            assertTrue(status.getMessage().contains("more than 100000 fields"), status.getMessage());
        }
        assertEquals(List.of(), channel.sent());
    }

    @Test
    void unknownTypesAreAcknowledgedAndIgnored() {
        assertOk(receive("MakeCoffee\u001b[2J", GetAgentInfo.getDefaultInstance(), Map.of()));
        assertOk(requests.receive("m2", MessageBody.getDefaultInstance()));

        assertEquals(List.of(), channel.sent());
    }

    @Test
    void whatCanNotBeStoredIsRefusedAndTakenWhenItComesAgain() {
        ConfigurePluginStates message = Messages.configure(install("a", "1"));
        diskFull = true;

        Status status = receive("ConfigurePluginStates", message, Map.of());

        assertEquals(Code.UNAVAILABLE_VALUE, status.getCode());
        assertFalse(status.getMessage().contains("/var/lib"), status.getMessage());
        assertEquals(List.of(), accepted);
        diskFull = false;
        assertOk(receive("ConfigurePluginStates", message, Map.of()));
        assertEquals(List.of("a"), accepted);
    }

    @Test
    void aMessageOfMoreItemsThanAnyMachineHasPluginsIsRefusedAsAWhole() {
        ConfigurePluginStates.Builder message = ConfigurePluginStates.newBuilder();
        IntStream.rangeClosed(0, Requests.MOST_ITEMS).forEach(i -> message.addConfigurePlugins(install("p" + i, "1")));

        Status status = receive("ConfigurePluginStates", message.build(), Map.of());

        assertEquals(Code.INVALID_ARGUMENT_VALUE, status.getCode());
        assertEquals(List.of(), accepted);
    }

    @Test
    void labelsThatAnAnswerCouldNotCarryAreRefused() {
        Status status = receive("GetAgentInfo", GetAgentInfo.getDefaultInstance(), Map.of("x", "y".repeat(1 << 20)));

        assertEquals(Code.INVALID_ARGUMENT_VALUE, status.getCode());
        assertEquals(List.of(), channel.sent());
    }

    @Test
    void aMessageWithoutAnIdIsRefusedAndOneWithALongIdIsNot() {
        MessageBody message = body("ConfigurePluginStates", Messages.configure(install("a", "1")))
                .build();

        Status status = requests.receive("", message);

        assertEquals(Code.INVALID_ARGUMENT_VALUE, status.getCode());
        assertTrue(status.getMessage().startsWith("MISSING_MESSAGE_ID"), status.getMessage());
        assertEquals(List.of(), accepted);
        assertOk(requests.receive("i".repeat(1000), message));
        assertEquals(List.of("a"), accepted);
    }

    @Test
    void eachKindOfRefusalIsLoggedWhateverWasLoggedOfTheOthers() {
        List<String> lines;
        try (HeardLog log = HeardLog.ofThisThread(Requests.class)) {
            for (int time = 0; time < 2; time++) {
                receive("MakeCoffee", GetAgentInfo.getDefaultInstance(), Map.of());
                requests.receive("", MessageBody.getDefaultInstance());
                receive("GetAgentInfo", GetAgentInfo.getDefaultInstance(), Map.of("x", "y".repeat(1 << 20)));
                aBodyThatIsNoMessageIsRefusedAndHasNoEffect();
                aMessageOfMoreItemsThanAnyMachineHasPluginsIsRefusedAsAWhole();
            }
            lines = log.lines();
        }

        assertEquals(
                List.of("MakeCoffee", "MISSING_MESSAGE_ID", "labels", "body", "configure_plugins"),
                lines.stream()
                        .map(line -> line.replaceFirst(".*(?:refused: |'[a-z_]*\\.)(\\w+).*", "$1"))
                        .toList());
    }

    private Status receive(String type, MessageLite message, Map<String, String> labels) {
        return requests.receive("m1", body(type, message).putAllLabels(labels).build());
    }

    private static MessageBody.Builder body(String type, MessageLite message) {
        return MessageBody.newBuilder()
                .putLabels("message_type", "agent_controlplane." + type)
                .setBody(Any.newBuilder()
                        .setTypeUrl("type.googleapis.com/agent_controlplane." + type)
                        .setValue(message.toByteString()));
    }

    private static String uname(String option) throws Exception {
        Process uname = new ProcessBuilder("uname", option).start();
        try (var output = uname.inputReader()) {
            return output.readLine();
        } finally {
            uname.waitFor();
        }
    }

    private static String type(MessageBody message) {
        return message.getLabelsOrThrow("message_type");
    }

    private static void assertOk(Status status) {
        assertEquals(Status.getDefaultInstance(), status);
    }
}
