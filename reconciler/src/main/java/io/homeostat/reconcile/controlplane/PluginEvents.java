package io.homeostat.reconcile.controlplane;

import com.google.protobuf.Any;
import com.google.protobuf.ByteString;
import io.homeostat.desired.model.Redaction;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Event;
import io.homeostat.proto.acp.PluginEventMessage;
import io.homeostat.proto.acp.PluginEventMessage.PluginEventType;
import io.homeostat.proto.acs.MessageBody;

/** Events of plugins as messages for the control plane. */
final class PluginEvents {
    /** The most bytes of details: enough for the 30 lines of log that come with a crash. */
    static final int MOST_DETAILS = 16 * 1024;

    private static final int HEAD = 4 * 1024;
    private static final ByteString CUT = ByteString.copyFromUtf8("\n[...]\n");

    private PluginEvents() {}

    static MessageBody message(WorkloadId plugin, Event event) {
        PluginEventMessage.Builder message = PluginEventMessage.newBuilder()
                .setPluginName(plugin.name())
                .setRevisionId(event.revision())
                .setEventType(PluginEventType.valueOf(event.type().name()))
                .setEventTimestamp(Protocol.timestamp(event.time()));
        if (!event.message().isEmpty()) {
            message.setEventDetails(details(event.message()));
        }
        return MessageBody.newBuilder()
                .putLabels(Protocol.MESSAGE_TYPE, Protocol.PLUGIN_EVENT)
                .setBody(Any.pack(message.build()))
                .build();
    }

    /** The beginning, which says what happened, and the end, which has the last lines of the log. Those may quote URLs. */
    private static ByteString details(String text) {
        ByteString all = ByteString.copyFromUtf8(Redaction.text(text));
        if (all.size() <= MOST_DETAILS) {
            return all;
        }
        ByteString head = all.substring(0, boundary(all, HEAD));
        ByteString tail = all.substring(boundary(all, all.size() - (MOST_DETAILS - HEAD - CUT.size() - Integer.BYTES)));
        return head.concat(CUT).concat(tail);
    }

    /** The first byte of the character to which this one belongs. */
    private static int boundary(ByteString utf8, int index) {
        int start = index;
        while (start > 0 && (utf8.byteAt(start) & 0xC0) == 0x80) {
            start--;
        }
        return start;
    }
}
