package io.homeostat.e2e;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.errorprone.annotations.CanIgnoreReturnValue;
import java.time.Duration;
import java.util.List;

/**
 * What one command did.
 *
 * @param command as it was typed, for messages
 * @param exit status; 128 + the signal's number when one ended it
 */
record Result(String command, int exit, String out, String err, Duration took) {
    private static final ObjectMapper JSON = new ObjectMapper();

    @CanIgnoreReturnValue
    Result exits(int expected) {
        assertEquals(expected, exit, this::toString);
        return this;
    }

    /** Says something somewhere, be it a result or a message. */
    @CanIgnoreReturnValue
    Result says(String words) {
        assertTrue((out + err).contains(words), () -> "does not say '" + words + "': " + this);
        return this;
    }

    @CanIgnoreReturnValue
    Result doesNotSay(String words) {
        assertFalse((out + err).contains(words), () -> "says '" + words + "': " + this);
        return this;
    }

    /** The line that tells of a workload. */
    String lineOf(String workload) {
        return out.lines()
                .filter(line -> line.startsWith(workload + " "))
                .findFirst()
                .orElseGet(() -> fail("does not tell of " + workload + ": " + this));
    }

    /** What is on standard output, which has to be one JSON object. */
    JsonNode json() {
        try {
            return JSON.readTree(out);
        } catch (JsonProcessingException e) {
            return fail("not JSON: " + this, e);
        }
    }

    /** What is on standard output, one JSON object a line. */
    List<JsonNode> jsonLines() {
        return out.lines()
                .map(line -> new Result(command, exit, line, err, took).json())
                .toList();
    }

    @Override
    public String toString() {
        return "homeostat " + command + "\nexit " + exit + " after " + took.toMillis() + " ms\n--- standard output\n"
                + out + "--- standard error\n" + err;
    }
}
