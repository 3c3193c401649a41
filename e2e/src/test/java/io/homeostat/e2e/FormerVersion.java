package io.homeostat.e2e;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.stream.Stream;

/** Turns a state directory into what the version with schema 3 and notes of format 1 would have left, processes untouched. */
final class FormerVersion {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String PHASE =
            "CASE document->>'$.phase' WHEN 'STARTED' THEN 'SUCCEEDED' WHEN 'START_SENT' THEN 'SENT' ELSE 'NOT_SENT' END";

    private FormerVersion() {}

    static void of(Path stateDir) throws IOException, SQLException {
        try (Connection database = DriverManager.getConnection("jdbc:sqlite:" + stateDir.resolve("homeostat.db"));
                Statement sql = database.createStatement()) {
            sql.execute("""
                    CREATE TABLE handle (
                      workload TEXT NOT NULL, launch_id TEXT NOT NULL, target TEXT NOT NULL, revision TEXT NOT NULL,
                      directory TEXT, inputs TEXT NOT NULL, launched_at TEXT NOT NULL, pid INTEGER, start_ticks INTEGER,
                      boot_id TEXT, start TEXT NOT NULL, config_hash TEXT NOT NULL, PRIMARY KEY (workload, launch_id)
                    ) STRICT, WITHOUT ROWID
                    """);
            sql.execute("INSERT INTO handle SELECT workload, launch_id, document->>'$.target', document->>'$.revision',"
                    + " document->>'$.directory', coalesce(document->'$.inputs', '{}'), document->>'$.launchedAt',"
                    + " document->>'$.identity.pid', document->>'$.identity.startTicks',"
                    + " document->>'$.identity.bootId', " + PHASE
                    + ", coalesce(document->>'$.configHash', '') FROM instance");
            sql.execute("DROP TABLE instance");
            sql.execute("DROP TABLE revision");
            for (String table : List.of("set_source", "published_set", "set_sequence", "rollout_state")) {
                sql.execute("DROP TABLE " + table);
            }
            sql.execute("PRAGMA user_version=3");
        }
        try (Stream<Path> files = Files.walk(stateDir)) {
            List<Path> notes =
                    files.filter(file -> file.endsWith("launch.json")).toList();
            for (Path note : notes) {
                Files.writeString(note, former(JSON.readTree(Files.readString(note))));
            }
        }
    }

    private static String former(JsonNode note) {
        ObjectNode former = JSON.createObjectNode().put("format", 1);
        ((ObjectNode) note.get("instance")).properties().forEach(field -> former.set(field.getKey(), field.getValue()));
        String phase = former.remove("phase").asText();
        former.put(
                "start",
                switch (phase) {
                    case "STARTED" -> "SUCCEEDED";
                    case "START_SENT" -> "SENT";
                    default -> "NOT_SENT";
                });
        if (former.get("identity") instanceof ObjectNode identity) {
            identity.remove("type");
        }
        former.putIfAbsent("configHash", TextNode.valueOf(""));
        return former.put("bootId", note.get("bootId").asText()).toString();
    }
}
