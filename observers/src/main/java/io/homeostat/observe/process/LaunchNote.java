package io.homeostat.observe.process;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.RecordCodec;
import java.io.IOException;

/** Written before a launch's process exists: enough to adopt it when the database is lost. The launch cannot outlive the boot. */
public record LaunchNote(Instance instance, String bootId) {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final RecordCodec RECORDS = new RecordCodec(JSON);

    public String toJson() {
        return RECORDS.write(this);
    }

    /**
     * Reads what {@link #toJson} of this or an earlier version wrote.
     *
     * @throws IOException when it is anything else
     */
    public static LaunchNote fromJson(String text) throws IOException {
        ObjectNode json = object(JSON.readTree(text));
        try {
            return RECORDS.read(LaunchNote.class, json.has("format") ? ofFirstFormat(json) : text);
        } catch (IllegalArgumentException e) {
            throw new IOException(e.getMessage(), e);
        }
    }

    /** The first format had the fields of the instance beside the boot, and other words for its phases. */
    private static String ofFirstFormat(ObjectNode json) throws IOException {
        if (json.remove("format").asInt() != 1) {
            throw new IOException("a note of an unknown format");
        }
        ObjectNode note = JSON.createObjectNode();
        note.set("bootId", json.remove("bootId"));
        boolean created = json.hasNonNull("identity");
        String start = json.path("start").asText();
        json.remove("start");
        json.put(
                "phase",
                switch (start) {
                    case "NOT_SENT" -> created ? "CREATED" : "INTENDED";
                    case "SENT" -> "START_SENT";
                    case "SUCCEEDED" -> "STARTED";
                    default -> start;
                });
        if (created) {
            object(json.path("identity")).put("type", "process");
        }
        json.properties().removeIf(field -> field.getValue().isNull());
        note.set("instance", json);
        return note.toString();
    }

    private static ObjectNode object(JsonNode json) throws IOException {
        if (json instanceof ObjectNode object) {
            return object;
        }
        throw new IOException("not a note");
    }
}
