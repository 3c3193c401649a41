package io.homeostat.observe.install;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * The file inside a directory that makes it an installation. It is written last, so a directory that has it is complete. It names its own
 * directory, so a copy under another name does not count as one of ours.
 *
 * @param id the workload that it belongs to
 * @param files SHA-256 of the {@link FileList} beside it; empty when there is none
 */
public record InstallationMarker(WorkloadId id, Installation installation, String files) {
    /** Name of the file, at the top of the installation's directory. */
    public static final String FILE = ".homeostat.json";

    /** The maximum length of a marker in bytes, more than the longest names and revisions need; a longer file is not ours. */
    public static final int MAX_BYTES = 16 << 20;

    private static final String FORMAT = "1";
    private static final Pattern SHA256 = Pattern.compile("[0-9a-f]{64}");
    private static final Pattern KEY = Pattern.compile("(unverified-)?[0-9a-f]{64}");
    private static final JsonFactory JSON = new JsonFactory();

    public byte[] toJson() {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        try (JsonGenerator json = JSON.createGenerator(out)) {
            json.writeStartObject();
            json.writeStringField("formatVersion", FORMAT);
            json.writeStringField("kind", id.kind().title());
            json.writeStringField("name", id.name());
            json.writeStringField("directory", installation.directory());
            json.writeStringField("revision", installation.revision());
            json.writeStringField("key", installation.key());
            json.writeStringField("sha256", installation.sha256());
            if (!files.isEmpty()) {
                json.writeStringField("files", files);
            }
            json.writeEndObject();
        } catch (IOException e) {
            throw new UncheckedIOException("writing to memory failed", e);
        }
        return out.toByteArray();
    }

    /** Parses a marker; empty when this version did not write or does not understand it. */
    public static Optional<InstallationMarker> parse(byte[] bytes) {
        Map<String, String> fields = new HashMap<>();
        try (JsonParser json = JSON.createParser(bytes)) {
            if (json.nextToken() != JsonToken.START_OBJECT) {
                return Optional.empty();
            }
            while (json.nextToken() == JsonToken.FIELD_NAME) {
                String name = json.currentName();
                if (json.nextToken() != JsonToken.VALUE_STRING || fields.put(name, json.getText()) != null) {
                    return Optional.empty();
                }
            }
            if (json.currentToken() != JsonToken.END_OBJECT || json.nextToken() != null) {
                return Optional.empty();
            }
        } catch (IOException e) {
            // Not JSON, so not ours.
            return Optional.empty();
        }
        return of(fields);
    }

    private static Optional<InstallationMarker> of(Map<String, String> fields) {
        String name = fields.getOrDefault("name", "");
        String directory = fields.getOrDefault("directory", "");
        String revision = fields.getOrDefault("revision", "");
        String key = fields.getOrDefault("key", "");
        String sha256 = fields.getOrDefault("sha256", "");
        String files = fields.getOrDefault("files", "");
        boolean valid = FORMAT.equals(fields.get("formatVersion"))
                && !name.isEmpty()
                && !revision.isEmpty()
                && KEY.matcher(key).matches()
                && SHA256.matcher(sha256).matches()
                && (files.isEmpty() || SHA256.matcher(files).matches());
        if (!valid) {
            return Optional.empty();
        }
        return Kind.ofTitle(fields.getOrDefault("kind", ""))
                .map(kind -> new WorkloadId(kind, name))
                .filter(id -> isDirectoryOf(id, directory))
                .map(id -> new InstallationMarker(id, new Installation(directory, revision, key, sha256), files));
    }

    /**
     * Whether an installation of this workload may have this name. That is necessary, not sufficient: plugin {@code a} at revision {@code
     * b_c} and plugin {@code a_b} share a prefix, and only the marker tells them apart.
     */
    public static boolean isDirectoryOf(WorkloadId workload, String directory) {
        return directory.startsWith(Layout.directoryName(workload) + "_")
                && directory.indexOf('/') < 0
                && directory.indexOf('\0') < 0;
    }
}
