package io.homeostat.desired.state;

import java.util.Locale;

/** What happened: the control plane's types, used for every kind of workload, and our own where it has none. */
public enum EventType {
    PLUGIN_CONFIG_INSTALL,
    PLUGIN_CONFIG_REMOVE,
    PLUGIN_INSTALLED,
    PLUGIN_STARTED,
    PLUGIN_REMOVED,
    PLUGIN_STOPPED,
    PLUGIN_CRASHED,
    PLUGIN_INSTALL_FAILED,
    PLUGIN_START_FAILED,
    PLUGIN_REMOVE_FAILED,
    PLUGIN_CONFIG_APPLY,
    PLUGIN_CONFIG_APPLIED,
    PLUGIN_CONFIG_APPLY_FAILED,
    PLUGIN_EXECUTION_COMPLETED,
    PLUGIN_EXECUTION_FAILED,
    /** The agent began to enforce what is declared. */
    AGENT_STARTED,
    /** The agent was told to end. What runs goes on running. */
    AGENT_STOPPED,
    /** The agent's configuration was read again. */
    AGENT_CONFIG_LOADED,
    /** The agent's configuration could not be read again; what was read before stays in force. */
    AGENT_CONFIG_INVALID,
    /** A failed upgrade was undone: the last good revision runs again. */
    AGENT_ROLLED_BACK,
    /** A workload failed as often as it may, and is not started any more. */
    AGENT_GIVEN_UP,
    /** A process that ran before this agent did was recognised as ours. */
    AGENT_ADOPTED,
    /** Events were deleted before the control plane had acknowledged them, because there were too many. */
    AGENT_EVENTS_DROPPED,
    /** Refused items of the control plane's messages were counted and not told one by one, because there were too many. */
    AGENT_REFUSALS_WITHHELD,
    /** The database could not be read and was set aside. */
    AGENT_STATE_SET_ASIDE,
    /** Something that a source reads is wrong; its last good content stays in force. */
    AGENT_SOURCE_INVALID,
    /** What was wrong with something that a source reads is not wrong any more. */
    AGENT_SOURCE_VALID,
    /** Another published set of a source is in force. */
    AGENT_SET_TAKEN,
    /** The workload is to be left alone. */
    AGENT_PAUSED,
    /** The workload is enforced again. */
    AGENT_RESUMED,
    /** What runs was made to read files again whose contents have changed. */
    AGENT_RELOADED,
    /** What runs could not be made to read files again whose contents have changed. It runs on. */
    AGENT_RELOAD_FAILED,
    /** Somebody had a signal sent to what runs. */
    AGENT_SIGNALED,
    /** The driver of a task told something of it, in its own words. */
    AGENT_DRIVER_EVENT,
    /** The machine was not as it had been left. */
    DRIFT_DETECTED;

    /** What happened, in lower case: "config applied". */
    public String words() {
        return shortName().replace('_', ' ').toLowerCase(Locale.ROOT);
    }

    /** Without saying whose it is: {@code CRASHED}. */
    public String shortName() {
        return name().replaceFirst("^(PLUGIN|AGENT)_", "");
    }

    /** Whether it is one of the control plane's types. */
    public boolean isPluginEvent() {
        return name().startsWith("PLUGIN_");
    }
}
