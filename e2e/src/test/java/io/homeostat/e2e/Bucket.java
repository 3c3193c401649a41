package io.homeostat.e2e;

import static com.github.tomakehurst.wiremock.client.WireMock.aResponse;
import static com.github.tomakehurst.wiremock.client.WireMock.any;
import static com.github.tomakehurst.wiremock.client.WireMock.anyUrl;
import static com.github.tomakehurst.wiremock.client.WireMock.equalTo;
import static com.github.tomakehurst.wiremock.client.WireMock.get;
import static com.github.tomakehurst.wiremock.client.WireMock.getRequestedFor;
import static com.github.tomakehurst.wiremock.client.WireMock.urlPathEqualTo;

import com.github.tomakehurst.wiremock.WireMockServer;
import com.github.tomakehurst.wiremock.client.MappingBuilder;
import com.github.tomakehurst.wiremock.client.ResponseDefinitionBuilder;
import com.github.tomakehurst.wiremock.core.WireMockConfiguration;
import com.github.tomakehurst.wiremock.http.Fault;
import com.github.tomakehurst.wiremock.stubbing.Scenario;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.util.UUID;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/** A storage bucket on loopback: objects behind signed URLs, and the ways in which fetching them goes wrong. */
final class Bucket implements BeforeEachCallback, AfterEachCallback {
    private static final int USUAL = 5;
    private static final int STRONGER = 1;

    /** As Google Cloud Storage has it for a URL whose X-Goog-Expires is over. */
    private static final String EXPIRED = """
            <?xml version='1.0' encoding='UTF-8'?><Error><Code>ExpiredToken</Code><Message>Invalid argument.</Message>\
            <Details>The provided token has expired. Request signature expired at: 2026-11-20T12:00:00+00:00</Details></Error>""";

    private static final String UNSIGNED = """
            <?xml version='1.0' encoding='UTF-8'?><Error><Code>SignatureDoesNotMatch</Code>\
            <Message>Access denied.</Message></Error>""";

    private final WireMockServer server = new WireMockServer(WireMockConfiguration.options()
            .dynamicPort()
            .bindAddress("127.0.0.1")
            .containerThreads(16));

    @Override
    public void beforeEach(ExtensionContext context) {
        server.start();
        server.stubFor(any(anyUrl()).atPriority(10).willReturn(xml(403, UNSIGNED)));
    }

    @Override
    public void afterEach(ExtensionContext context) {
        close();
    }

    /** Nobody listens any more. */
    void close() {
        server.stop();
    }

    /** An object in the bucket, with what a declaration needs of it. */
    static final class Stored {
        private final String path;
        private final byte[] content;
        private final String signature;

        Stored(String path, byte[] content, String signature) {
            this.path = path;
            this.content = content;
            this.signature = signature;
        }

        String path() {
            return path;
        }

        byte[] content() {
            return content;
        }

        /** What makes its URL a secret. */
        String signature() {
            return signature;
        }

        String sha256() {
            return Hashes.sha256(content);
        }
    }

    static byte[] greeter() {
        try {
            return Files.readAllBytes(SampleProgram.GREETER.light());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Puts an object where only its signed URL finds it. */
    Stored put(String name, byte[] content) {
        Stored stored = new Stored(
                "/bucket/" + name, content, UUID.randomUUID().toString().replace("-", ""));
        answer(stored, whole(content));
        return stored;
    }

    /** Has an object where anybody finds it who knows its name, and returns its address. */
    String publish(String name, ResponseDefinitionBuilder answer) {
        server.stubFor(get(urlPathEqualTo("/public/" + name)).atPriority(USUAL).willReturn(answer));
        return url("/public/" + name);
    }

    /** Every request for the object gets this answer from now on. */
    void answer(Stored stored, ResponseDefinitionBuilder answer) {
        server.stubFor(signed(stored).atPriority(USUAL).willReturn(answer));
    }

    /** The first request gets one answer, all others another. */
    void answer(Stored stored, ResponseDefinitionBuilder first, ResponseDefinitionBuilder then) {
        server.stubFor(signed(stored)
                .atPriority(STRONGER)
                .inScenario(stored.path())
                .whenScenarioStateIs(Scenario.STARTED)
                .willSetStateTo("asked")
                .willReturn(first));
        server.stubFor(signed(stored)
                .atPriority(STRONGER)
                .inScenario(stored.path())
                .whenScenarioStateIs("asked")
                .willReturn(then));
    }

    /** The time of the object's signed URL is over. */
    void expire(Stored stored) {
        server.stubFor(signed(stored).atPriority(STRONGER).willReturn(xml(403, EXPIRED)));
    }

    private static MappingBuilder signed(Stored stored) {
        return get(urlPathEqualTo(stored.path())).withQueryParam("X-Goog-Signature", equalTo(stored.signature()));
    }

    static ResponseDefinitionBuilder whole(byte[] content) {
        return aResponse()
                .withStatus(200)
                .withHeader("Content-Type", "application/gzip")
                .withHeader("ETag", "\"" + Hashes.sha256(content).substring(0, 16) + "\"")
                .withBody(content);
    }

    /** The body in pieces, over all that time. */
    static ResponseDefinitionBuilder slow(byte[] content, int millis) {
        return whole(content).withChunkedDribbleDelay(20, millis);
    }

    static ResponseDefinitionBuilder status(int status) {
        return aResponse().withStatus(status);
    }

    static ResponseDefinitionBuilder xml(int status, String body) {
        return status(status)
                .withHeader("Content-Type", "application/xml; charset=UTF-8")
                .withBody(body);
    }

    static ResponseDefinitionBuilder html(String body) {
        return status(200).withHeader("Content-Type", "text/html").withBody(body);
    }

    static ResponseDefinitionBuilder redirect(String location) {
        return status(302).withHeader("Location", location);
    }

    static ResponseDefinitionBuilder resetAtOnce() {
        return aResponse().withFault(Fault.CONNECTION_RESET_BY_PEER);
    }

    /** The address with everything that makes it a secret. */
    String signedUrl(Stored stored) {
        return url(stored.path()) + query(stored);
    }

    static String query(Stored stored) {
        return "?X-Goog-Algorithm=GOOG4-RSA-SHA256&X-Goog-Credential=sa%40p.iam.gserviceaccount.com%2F20261120"
                + "&X-Goog-Date=20261120T120000Z&X-Goog-Expires=3600&X-Goog-SignedHeaders=host&X-Goog-Signature="
                + stored.signature();
    }

    String url(String path) {
        return server.baseUrl() + path;
    }

    /** How often an object was asked for. */
    int requests(Stored stored) {
        return server.countRequestsMatching(
                        getRequestedFor(urlPathEqualTo(stored.path())).build())
                .getCount();
    }

    int requests() {
        return server.getAllServeEvents().size();
    }
}
