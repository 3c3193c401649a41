package io.homeostat.e2e.measure;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.MissingNode;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Base64;
import java.util.List;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;

/** What is in a cluster of etcd, asked of its members in JSON. */
public final class EtcdStore implements AutoCloseable {
    private static final ObjectMapper JSON = new ObjectMapper();
    /** A member without a leader answers only when its own patience is over. */
    private static final Duration PATIENCE = Duration.ofSeconds(3);

    private final HttpClient client =
            HttpClient.newBuilder().connectTimeout(PATIENCE).build();
    private final List<String> endpoints;

    /** @param endpoints of members, the first that answers counts */
    public EtcdStore(List<String> endpoints) {
        this.endpoints = endpoints;
    }

    /**
     * All that was there at one moment.
     *
     * @param revision of the store then
     * @param values by key, in base64
     */
    public record Snapshot(long revision, SortedMap<String, String> values) {
        /** What is at a key, which has to be JSON when there is anything. */
        public JsonNode json(String key) throws IOException {
            String value = values.get(key);
            return value == null
                    ? MissingNode.getInstance()
                    : JSON.readTree(Base64.getDecoder().decode(value));
        }

        /** The keys that begin with this. */
        public Set<String> below(String prefix) {
            return values.subMap(prefix, end(prefix)).keySet();
        }
    }

    /** The first key that is behind all that begin with a prefix. */
    private static String end(String prefix) {
        int last = prefix.length() - 1;
        return prefix.substring(0, last) + (char) (prefix.charAt(last) + 1);
    }

    /** Reads all keys that begin with this; as new as anything that was written before. */
    public Snapshot read(String prefix) throws IOException, InterruptedException {
        JsonNode answer = ask(
                "range",
                JSON.createObjectNode()
                        .put("key", encoded(prefix))
                        .put("range_end", encoded(end(prefix)))
                        .toString());
        SortedMap<String, String> values = new TreeMap<>();
        for (JsonNode entry : answer.path("kvs")) {
            byte[] key = Base64.getDecoder().decode(entry.path("key").asText());
            values.put(
                    new String(key, StandardCharsets.UTF_8), entry.path("value").asText());
        }
        return new Snapshot(answer.at("/header/revision").asLong(), values);
    }

    /** Writes a key. */
    public void put(String key, byte[] value) throws IOException, InterruptedException {
        JsonNode _ = ask(
                "put",
                JSON.createObjectNode()
                        .put("key", encoded(key))
                        .put("value", Base64.getEncoder().encodeToString(value))
                        .toString());
    }

    private static String encoded(String text) {
        return Base64.getEncoder().encodeToString(text.getBytes(StandardCharsets.UTF_8));
    }

    private JsonNode ask(String what, String body) throws IOException, InterruptedException {
        IOException failure = new IOException("no member of etcd answers");
        for (String endpoint : endpoints) {
            HttpRequest request = HttpRequest.newBuilder(URI.create(endpoint + "/v3/kv/" + what))
                    .timeout(PATIENCE)
                    .POST(BodyPublishers.ofString(body))
                    .build();
            try {
                HttpResponse<String> response = client.send(request, BodyHandlers.ofString());
                if (response.statusCode() == 200) {
                    return JSON.readTree(response.body());
                }
                failure.addSuppressed(new IOException(endpoint + ": " + response.body()));
            } catch (IOException e) {
                failure.addSuppressed(e);
            }
        }
        throw failure;
    }

    @Override
    public void close() {
        client.shutdownNow();
        client.close();
    }
}
