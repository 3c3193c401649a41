package io.homeostat.reconcile.controlplane;

/** What the label {@code message_type} of a message may be, and the label itself. */
final class MessageType {
    static final String LABEL = "message_type";

    static final String GET_AGENT_INFO = "agent_controlplane.GetAgentInfo";
    static final String AGENT_INFO = "agent_controlplane.AgentInfo";
    static final String GET_OS_INFO = "agent_controlplane.GetOSInfo";
    static final String OS_INFO = "agent_controlplane.OSInfo";
    static final String LIST_PLUGIN_STATES = "agent_controlplane.ListPluginStates";
    static final String CURRENT_PLUGIN_STATES = "agent_controlplane.CurrentPluginStates";
    static final String CONFIGURE_PLUGIN_STATES = "agent_controlplane.ConfigurePluginStates";
    static final String MODULE_METRICS = "agent_controlplane.GuestAgentModuleMetrics";

    private MessageType() {}
}
