package io.homeostat.reconcile.controlplane;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.InvalidProtocolBufferException;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.EventType;
import io.homeostat.proto.acp.PluginEventMessage;
import io.homeostat.proto.acp.PluginEventMessage.PluginEventType;
import io.homeostat.proto.acs.MessageBody;
import io.homeostat.reconcile.controlplane.EventDelivery.PluginEvents;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What the control plane reads of an event. */
class PluginEventsTest {
    private static final WorkloadId ID = WorkloadId.plugin("ops-agent");
    private static final Instant AT = Instant.parse("2026-11-20T12:00:00.000000007Z");

    @Test
    void everyPartOfAnEventIsInItsPlace() throws InvalidProtocolBufferException {
        MessageBody body =
                PluginEvents.message(ID, new Event(AT, ID, "67C5640D", EventType.PLUGIN_CRASHED, "exited\nlast words"));

        assertEquals("agent_controlplane.PluginEventMessage", body.getLabelsOrThrow("message_type"));
        PluginEventMessage event = PluginEventMessage.parseFrom(body.getBody().getValue());
        assertEquals("ops-agent", event.getPluginName());
        assertEquals("67C5640D", event.getRevisionId());
        assertEquals(PluginEventType.PLUGIN_CRASHED, event.getEventType());
        assertEquals(AT.getEpochSecond(), event.getEventTimestamp().getSeconds());
        assertEquals(7, event.getEventTimestamp().getNanos());
        assertEquals("exited\nlast words", event.getEventDetails().toStringUtf8());
    }

    @ParameterizedTest
    @EnumSource(EventType.class)
    void noEventHasAnEmptyText(EventType type) {
        assertFalse(new Event(AT, ID, "1", type, " ").message().isBlank());
    }

    @Test
    void theControlPlaneHasAWordForEachEventThatIsQueuedAndWeForEachOfItsWords() {
        List<String> ours = Arrays.stream(EventType.values())
                .filter(EventType::isPluginEvent)
                .map(Enum::name)
                .sorted()
                .toList();
        List<String> theirs = Arrays.stream(PluginEventType.values())
                .map(Enum::name)
                .filter(name -> !name.equals("UNRECOGNIZED") && !name.equals("PLUGIN_EVENT_TYPE_UNSPECIFIED"))
                .sorted()
                .toList();

        assertEquals(theirs, ours);
    }

    @ParameterizedTest
    @EnumSource(value = EventType.class, names = "PLUGIN_.*", mode = EnumSource.Mode.MATCH_ALL)
    void noQueryOfAUrlIsInTheDetailsWhateverAPluginLogged(EventType type) throws InvalidProtocolBufferException {
        String details = event(type, "no luck\nGET https://u:hunter2@b.example/x?X-Goog-Signature=c0ffee failed")
                .getEventDetails()
                .toStringUtf8();

        assertEquals("no luck\nGET https://b.example/x?... failed", details);
    }

    @Test
    void longDetailsKeepTheirBeginningAndTheirEndAndNoHalfCharacter() throws InvalidProtocolBufferException {
        for (int shift = 0; shift < 4; shift++) {
            String text = "a".repeat(shift) + "\uD83D\uDE00".repeat(30_000) + "the end";

            byte[] details =
                    event(EventType.PLUGIN_CRASHED, text).getEventDetails().toByteArray();

            String read = new String(details, StandardCharsets.UTF_8);
            assertTrue(details.length <= PluginEvents.MOST_DETAILS, () -> "bytes: " + details.length);
            assertTrue(details.length > PluginEvents.MOST_DETAILS - 16, () -> "bytes: " + details.length);
            assertTrue(read.endsWith("the end"));
            assertTrue(read.contains("\n[...]\n"));
            assertFalse(read.contains("\uFFFD"));
        }
    }

    private static PluginEventMessage event(EventType type, String message) throws InvalidProtocolBufferException {
        return PluginEventMessage.parseFrom(PluginEvents.message(ID, new Event(AT, ID, "A1", type, message))
                .getBody()
                .getValue());
    }
}
