package io.homeostat.observe.driver;

import com.google.common.base.Ascii;
import com.google.common.collect.ImmutableList;
import io.homeostat.proto.nomad.driver.FingerprintResponse;
import java.time.Instant;
import java.util.Map;

/**
 * What a driver has last said of itself. A driver can say anything, up to what a message can carry: only so much of it is kept.
 *
 * @param attributes what it knows of this machine, in the order of their names
 * @param leftOut how many attributes there are beside these
 */
public record Fingerprint(
        State state, String description, ImmutableList<Attribute> attributes, int leftOut, Instant at) {
    private static final int MOST_ATTRIBUTES = 250;
    private static final int SHOWN = 500;
    private static final int NAME = 150;
    private static final int UNIT = 30;

    /**
     * Something that a driver knows of this machine.
     *
     * @param unit of a number; empty when it has none
     */
    public record Attribute(String name, String value, String unit) {
        /** As people read it. */
        public String words() {
            return unit.isEmpty() ? value : value + " " + unit;
        }
    }

    /** Whether it can run tasks. */
    public enum State {
        HEALTHY(0),
        /** What it needs is there, and does not work. */
        UNHEALTHY(1),
        /** What it needs is not there. */
        UNDETECTED(2),
        /** It has not said yet, or no longer. */
        UNKNOWN(3);

        private final int code;

        State(int code) {
            this.code = code;
        }

        /** As status shows it. */
        int code() {
            return code;
        }
    }

    static Fingerprint unknown(String why, Instant at) {
        return new Fingerprint(State.UNKNOWN, why, ImmutableList.of(), 0, at);
    }

    static Fingerprint of(FingerprintResponse response, Instant at) {
        State state = switch (response.getHealth()) {
            case HEALTHY -> response.getErr().isEmpty() ? State.HEALTHY : State.UNHEALTHY;
            case UNHEALTHY -> State.UNHEALTHY;
            case UNDETECTED -> State.UNDETECTED;
            case UNRECOGNIZED -> State.UNKNOWN;
        };
        String description = response.getErr().isEmpty() ? response.getHealthDescription() : response.getErr();
        return new Fingerprint(
                state,
                Ascii.truncate(description, SHOWN, "..."),
                response.getAttributesMap().entrySet().stream()
                        .sorted(Map.Entry.comparingByKey())
                        .limit(MOST_ATTRIBUTES)
                        .map(each -> attribute(each.getKey(), each.getValue()))
                        .collect(ImmutableList.toImmutableList()),
                Math.max(0, response.getAttributesCount() - MOST_ATTRIBUTES),
                at);
    }

    private static Attribute attribute(String name, io.homeostat.proto.nomad.structs.Attribute attribute) {
        String value = switch (attribute.getValueCase()) {
            case FLOAT_VAL -> Double.toString(attribute.getFloatVal());
            case INT_VAL -> Long.toString(attribute.getIntVal());
            case STRING_VAL -> attribute.getStringVal();
            case BOOL_VAL -> Boolean.toString(attribute.getBoolVal());
            case VALUE_NOT_SET -> "";
        };
        return new Attribute(
                Ascii.truncate(name, NAME, "..."),
                Ascii.truncate(value, SHOWN, "..."),
                Ascii.truncate(attribute.getUnit(), UNIT, "..."));
    }

    /** For people: "undetected: cannot connect to any Podman socket". */
    public String words() {
        String word = switch (state) {
            case HEALTHY -> "healthy";
            case UNHEALTHY -> "unhealthy";
            case UNDETECTED -> "undetected";
            case UNKNOWN -> "unknown";
        };
        return description.isEmpty() ? word : word + ": " + description;
    }
}
