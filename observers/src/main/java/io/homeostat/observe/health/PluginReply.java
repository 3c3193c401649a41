package io.homeostat.observe.health;

/** What came of a call to a plugin. */
public sealed interface PluginReply {
    /** It agreed. */
    record Done() implements PluginReply {}

    /** It has no such method: for Apply a wish to be restarted with the new configuration. */
    record Unimplemented() implements PluginReply {}

    /** It answered with an error. */
    record Refused(String problem) implements PluginReply {}

    /** No answer within the deadline; what the plugin did is not known. */
    record TimedOut(String problem) implements PluginReply {}

    /** No connection, or it broke off; what the plugin did is not known. */
    record Unreachable(String problem) implements PluginReply {}

    /** For people: what went wrong; empty when nothing did. */
    default String words() {
        return switch (this) {
            case Done() -> "";
            case Unimplemented() -> "does not implement the call";
            case Refused(String problem) -> problem;
            case TimedOut(String problem) -> problem;
            case Unreachable(String problem) -> problem;
        };
    }
}
