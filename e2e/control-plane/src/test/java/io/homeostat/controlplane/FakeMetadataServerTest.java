package io.homeostat.controlplane;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpTimeoutException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.Base64;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

final class FakeMetadataServerTest {
    private static final String IDENTITY =
            "instance/service-accounts/default/identity?audience=agentcommunication.googleapis.com&format=full";

    private final HttpClient client = HttpClient.newHttpClient();
    private FakeMetadataServer server;

    @BeforeEach
    void start() throws IOException {
        server = new FakeMetadataServer();
    }

    @AfterEach
    void end() {
        client.close();
        server.close();
    }

    @Test
    void hasValuesAndDirectories() throws Exception {
        server.set("instance/attributes/tier", "gold");
        server.set("instance/attributes/deep/er", "x");
        assertEquals("gold", get("instance/attributes/tier").body());
        assertEquals("deep/\ntier\n", get("instance/attributes/").body());
        assertEquals(
                "Google",
                get("instance/id").headers().firstValue("Metadata-Flavor").orElseThrow());
        assertEquals(404, get("instance/attributes/none").statusCode());
        server.remove("instance/attributes/tier");
        assertEquals(404, get("instance/attributes/tier").statusCode());
        assertEquals(404, get("nowhere/").statusCode());
        assertEquals("projects/1/zones/z/instances/1", server.resource());
    }

    @Test
    void refusesWhatCouldBeARedirectedBrowser() throws Exception {
        HttpRequest bare = HttpRequest.newBuilder(uri("instance/id")).build();
        assertEquals(
                403, client.send(bare, HttpResponse.BodyHandlers.ofString()).statusCode());
    }

    @Test
    void givesTokensForAnAudienceThatExpire() throws Exception {
        Instant expires = Instant.ofEpochSecond(2_000_000_000);
        server.tokensExpire(() -> expires);
        String token = get(IDENTITY).body();
        String claims = new String(Base64.getUrlDecoder().decode(token.split("\\.", -1)[1]), StandardCharsets.UTF_8);
        assertTrue(claims.contains("\"aud\":\"agentcommunication.googleapis.com\""), claims);
        assertTrue(claims.contains("\"exp\":2000000000"), claims);
        assertNotEquals(token, get(IDENTITY).body());
        assertEquals(2, server.tokensAsked());
    }

    @Test
    void failsAndRecoversAsTold() throws Exception {
        server.fail(503);
        assertEquals(503, get("instance/id").statusCode());
        server.fail(200);
        server.flavored(false);
        HttpResponse<String> plain = get("instance/id");
        assertEquals("1", plain.body());
        assertEquals(Optional.empty(), plain.headers().firstValue("Metadata-Flavor"));
        assertEquals(List.of("instance/id", "instance/id"), server.asked());
    }

    @Test
    void isSlowAsTold() {
        server.slow(Duration.ofMinutes(5));
        HttpRequest impatient =
                request("instance/id").timeout(Duration.ofMillis(200)).build();
        assertThrows(HttpTimeoutException.class, () -> client.send(impatient, HttpResponse.BodyHandlers.ofString()));
    }

    private HttpResponse<String> get(String path) throws IOException, InterruptedException {
        return client.send(request(path).build(), HttpResponse.BodyHandlers.ofString());
    }

    private HttpRequest.Builder request(String path) {
        return HttpRequest.newBuilder(uri(path)).header("Metadata-Flavor", "Google");
    }

    private URI uri(String path) {
        return URI.create("http://" + server.host() + "/computeMetadata/v1/" + path);
    }
}
