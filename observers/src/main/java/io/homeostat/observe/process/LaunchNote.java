package io.homeostat.observe.process;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Phase;
import io.homeostat.desired.state.ProcessIdentity;
import java.io.IOException;
import java.time.DateTimeException;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * What is written beside a launch before its process exists: enough to adopt the process when the database is lost.
 *
 * @param bootId the boot in which the launch was made; a launch never comes alive in another
 */
public record LaunchNote(Instance instance, String bootId) {
    private static final int FORMAT = 1;
    private static final ObjectMapper JSON = new ObjectMapper();

    /** The note as JSON text. */
    public String toJson() {
        ObjectNode json = JSON.createObjectNode();
        json.put("format", FORMAT);
        json.put("launchId", instance.launchId());
        json.put("workload", instance.workload().toString());
        json.put("target", instance.target());
        json.put("revision", instance.revision());
        json.put("directory", instance.directory());
        ObjectNode inputs = json.putObject("inputs");
        instance.inputs().forEach(inputs::put);
        json.put("launchedAt", instance.launchedAt().toString());
        ProcessIdentity identity = instance.identity();
        if (identity != null) {
            json.putObject("identity")
                    .put("pid", identity.pid())
                    .put("startTicks", identity.startTicks())
                    .put("bootId", identity.bootId());
        }
        json.put("start", instance.phase().stored());
        json.put("configHash", instance.configHash());
        json.put("bootId", bootId);
        return json.toString();
    }

    /**
     * Reads what {@link #toJson} wrote.
     *
     * @throws IOException when it is something else
     */
    public static LaunchNote fromJson(String text) throws IOException {
        JsonNode json = JSON.readTree(text);
        if (json.path("format").asInt() != FORMAT) {
            throw new IOException("not a note of format " + FORMAT);
        }
        ImmutableSortedMap.Builder<String, String> inputs = ImmutableSortedMap.naturalOrder();
        json.path("inputs")
                .properties()
                .forEach(input -> inputs.put(input.getKey(), input.getValue().asText()));
        try {
            Instance instance = new Instance(
                    text(json, "launchId"),
                    WorkloadId.parse(text(json, "workload")).orElseThrow(() -> new IOException("names no workload")),
                    text(json, "target"),
                    text(json, "revision"),
                    json.hasNonNull("directory") ? text(json, "directory") : null,
                    inputs.buildOrThrow(),
                    Instant.parse(text(json, "launchedAt")),
                    identity(json.get("identity")),
                    Phase.ofStored(text(json, "start"), json.hasNonNull("identity")),
                    text(json, "configHash"));
            return new LaunchNote(instance, text(json, "bootId"));
        } catch (DateTimeException | IllegalArgumentException e) {
            throw new IOException("has a value that can't be read: " + e.getMessage(), e);
        }
    }

    private static @Nullable ProcessIdentity identity(@Nullable JsonNode json) throws IOException {
        if (json == null || json.isNull()) {
            return null;
        }
        return new ProcessIdentity(
                json.path("pid").asLong(), json.path("startTicks").asLong(), text(json, "bootId"));
    }

    private static String text(JsonNode json, String field) throws IOException {
        JsonNode value = json.get(field);
        if (value == null || !value.isTextual()) {
            throw new IOException("lacks the text field " + field);
        }
        return value.textValue();
    }
}
