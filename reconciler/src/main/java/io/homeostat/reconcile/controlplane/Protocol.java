package io.homeostat.reconcile.controlplane;

import com.google.protobuf.Timestamp;
import java.time.Instant;

/** The protocol's words: the label that says what a message is, its values, and how times are written. */
final class Protocol {
    static final String MESSAGE_TYPE = "message_type";

    static final String GET_AGENT_INFO = "agent_controlplane.GetAgentInfo";
    static final String AGENT_INFO = "agent_controlplane.AgentInfo";
    static final String GET_OS_INFO = "agent_controlplane.GetOSInfo";
    static final String OS_INFO = "agent_controlplane.OSInfo";
    static final String LIST_PLUGIN_STATES = "agent_controlplane.ListPluginStates";
    static final String CURRENT_PLUGIN_STATES = "agent_controlplane.CurrentPluginStates";
    static final String CONFIGURE_PLUGIN_STATES = "agent_controlplane.ConfigurePluginStates";
    static final String PLUGIN_EVENT = "agent_controlplane.PluginEventMessage";
    static final String MODULE_METRICS = "agent_controlplane.GuestAgentModuleMetrics";

    private Protocol() {}

    static Timestamp timestamp(Instant at) {
        return Timestamp.newBuilder()
                .setSeconds(at.getEpochSecond())
                .setNanos(at.getNano())
                .build();
    }
}
