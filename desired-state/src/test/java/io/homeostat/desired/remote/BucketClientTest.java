package io.homeostat.desired.remote;

import static com.github.tomakehurst.wiremock.client.WireMock.aResponse;
import static com.github.tomakehurst.wiremock.client.WireMock.absent;
import static com.github.tomakehurst.wiremock.client.WireMock.any;
import static com.github.tomakehurst.wiremock.client.WireMock.anyUrl;
import static com.github.tomakehurst.wiremock.client.WireMock.equalTo;
import static com.github.tomakehurst.wiremock.client.WireMock.get;
import static com.github.tomakehurst.wiremock.client.WireMock.getRequestedFor;
import static com.github.tomakehurst.wiremock.client.WireMock.matching;
import static com.github.tomakehurst.wiremock.client.WireMock.put;
import static com.github.tomakehurst.wiremock.client.WireMock.putRequestedFor;
import static com.github.tomakehurst.wiremock.client.WireMock.urlEqualTo;
import static com.github.tomakehurst.wiremock.client.WireMock.urlPathEqualTo;
import static com.github.tomakehurst.wiremock.core.WireMockConfiguration.wireMockConfig;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.github.tomakehurst.wiremock.client.ResponseDefinitionBuilder;
import com.github.tomakehurst.wiremock.junit5.WireMockExtension;
import com.google.common.collect.ImmutableList;
import com.google.protobuf.ByteString;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.model.AgentConfig.Identity;
import io.homeostat.desired.platform.MetadataServer;
import io.homeostat.desired.platform.MetadataServer.Answer;
import io.homeostat.desired.remote.BucketClient.Listed;
import io.homeostat.desired.remote.BucketClient.Read;
import io.homeostat.desired.remote.SetFetcher.Fetched;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Buckets of Google Cloud Storage and of S3, and who gives the credentials for them. */
final class BucketClientTest {
    private static final String GOOGLE = "gs://bucket/fleet/set $1.json";
    private static final String AMAZON = "s3://bucket/fleet/set $1.json";
    private static final String PATH = "/bucket/fleet/set%20%241.json";
    private static final ByteString CONTENT = ByteString.copyFromUtf8("{}");

    @RegisterExtension
    final WireMockExtension server = WireMockExtension.newInstance()
            .options(wireMockConfig().dynamicPort().bindAddress("127.0.0.1").gzipDisabled(true))
            .build();

    @TempDir
    private Path directory;

    private Answer token = new Answer.Present("{\"access_token\": \"t1\", \"expires_in\": 3600}");
    private int tokens;
    private Instant now = Instant.parse("2026-11-20T12:00:00Z");
    private Identity credentials = Identity.Known.METADATA;

    @Test
    void anObjectOfGoogleIsReadByItsGeneration() throws Exception {
        server.stubFor(get(urlEqualTo(PATH))
                .withHeader("Authorization", equalTo("Bearer t1"))
                .willReturn(aResponse().withBody("{}").withHeader("x-goog-generation", "17")));
        server.stubFor(get(urlEqualTo(PATH))
                .withHeader("x-goog-if-generation-not-match", equalTo("17"))
                .willReturn(aResponse().withStatus(304)));
        BucketClient client = client();

        assertEquals(new Read.Content("17", CONTENT), client.get(GOOGLE, Optional.empty()));
        assertEquals(new Read.Unchanged(), client.get(GOOGLE, Optional.of("17")));
        assertEquals(1, tokens, "a token is kept");

        now = now.plusSeconds(3400);
        assertEquals(new Read.Unchanged(), client.get(GOOGLE, Optional.of("17")));
        assertEquals(2, tokens, "until it is about to expire");
    }

    @Test
    void aTokenIsNotKeptLongerThanADayWhateverItsExpiry() throws Exception {
        server.stubFor(
                get(urlEqualTo(PATH)).willReturn(aResponse().withBody("{}").withHeader("x-goog-generation", "17")));
        long nearlyFirst = Instant.MIN.getEpochSecond() - now.getEpochSecond() + 100;
        for (long validity : List.of(Long.MIN_VALUE, nearlyFirst, -nearlyFirst, Long.MAX_VALUE)) {
            token = new Answer.Present("{\"access_token\": \"t1\", \"expires_in\": " + validity + "}");
            BucketClient client = client();
            assertEquals(new Read.Content("17", CONTENT), client.get(GOOGLE, Optional.empty()));

            tokens = 0;
            now = now.plus(Duration.ofDays(1));
            assertEquals(new Read.Content("17", CONTENT), client.get(GOOGLE, Optional.empty()));
            assertEquals(1, tokens);
        }
    }

    @Test
    void anObjectOfS3IsReadByItsEtagAndSigned() throws Exception {
        credentials = keys("id\nsecret\n");
        server.stubFor(get(urlEqualTo(PATH))
                .withHeader("Authorization", matching("AWS4-HMAC-SHA256 Credential=id/20261120/eu-central-1/s3/.*"))
                .willReturn(aResponse().withBody("{}").withHeader("ETag", "\"e1\"")));
        server.stubFor(get(urlEqualTo(PATH))
                .withHeader("If-None-Match", equalTo("\"e1\""))
                .willReturn(aResponse().withStatus(304)));

        assertEquals(new Read.Content("\"e1\"", CONTENT), client().get(AMAZON, Optional.empty()));
        assertEquals(new Read.Unchanged(), client().get(AMAZON, Optional.of("\"e1\"")));
    }

    @Test
    void anObjectIsWrittenIfItIsStillTheSame() throws Exception {
        credentials = Identity.Known.NONE;
        server.stubFor(put(urlEqualTo(PATH))
                .willReturn(aResponse().withHeader("x-goog-generation", "18").withHeader("ETag", "\"e2\"")));

        assertEquals(Optional.of("18"), client().put(GOOGLE, CONTENT, Optional.of("17")));
        server.verify(putRequestedFor(urlEqualTo(PATH))
                .withHeader("x-goog-if-generation-match", equalTo("17"))
                .withHeader("Authorization", absent())
                .withRequestBody(equalTo("{}")));
        assertEquals(Optional.of("18"), client().put(GOOGLE, CONTENT, Optional.empty()));
        server.verify(putRequestedFor(urlEqualTo(PATH)).withHeader("x-goog-if-generation-match", equalTo("0")));
        assertEquals(Optional.of("\"e2\""), client().put(AMAZON, CONTENT, Optional.of("\"e1\"")));
        server.verify(putRequestedFor(urlEqualTo(PATH)).withHeader("If-Match", equalTo("\"e1\"")));
        assertEquals(Optional.of("\"e2\""), client().put(AMAZON, CONTENT, Optional.empty()));
        server.verify(putRequestedFor(urlEqualTo(PATH)).withHeader("If-None-Match", equalTo("*")));
        client().put(AMAZON, CONTENT);
        server.verify(putRequestedFor(urlEqualTo(PATH))
                .withHeader("If-None-Match", absent())
                .withHeader("If-Match", absent())
                .withHeader("x-goog-if-generation-match", absent()));

        for (int conflict : new int[] {409, 412}) {
            server.stubFor(put(urlEqualTo(PATH)).willReturn(aResponse().withStatus(conflict)));
            assertEquals(Optional.empty(), client().put(AMAZON, CONTENT, Optional.of("\"e1\"")));
            assertThrows(FetchFailure.class, () -> client().put(AMAZON, CONTENT));
        }
        server.stubFor(put(urlEqualTo(PATH)).willReturn(aResponse().withStatus(500)));
        assertThrows(FetchFailure.class, () -> client().put(AMAZON, CONTENT, Optional.empty()));
    }

    @Test
    void objectsAreListedPageByPage() throws Exception {
        credentials = Identity.Known.NONE;
        server.stubFor(get(urlEqualTo("/bucket/?list-type=2&prefix=r%2F"))
                .willReturn(aResponse()
                        .withHeader("Date", "Sat, 28 Nov 2026 20:01:00 GMT")
                        .withBody("<ListBucketResult><Contents><Key>r/a&amp;b</Key>"
                                + "<LastModified>2026-11-28T20:00:00.000Z</LastModified></Contents>"
                                + "<NextContinuationToken>x=1</NextContinuationToken></ListBucketResult>")));
        server.stubFor(get(urlEqualTo("/bucket/?continuation-token=x%3D1&list-type=2&prefix=r%2F"))
                .willReturn(aResponse()
                        .withHeader("Date", "Sat, 28 Nov 2026 20:01:02 GMT")
                        .withBody("<ListBucketResult><Contents><Key>r/c</Key>"
                                + "<LastModified>2026-11-28T20:01:01Z</LastModified></Contents></ListBucketResult>")));

        assertEquals(
                ImmutableList.of(
                        new Listed("s3://bucket/r/a&b", Duration.ofMinutes(1)),
                        new Listed("s3://bucket/r/c", Duration.ofSeconds(1))),
                client().list("s3://bucket/r/"));

        server.stubFor(get(urlPathEqualTo("/bucket/"))
                .willReturn(aResponse().withBody("<ListBucketResult><Contents><Key>r/c</Key></Contents>")));
        assertTrue(assertThrows(FetchFailure.class, () -> client().list("gs://bucket/r/"))
                .words()
                .contains("lacks a time"));

        server.stubFor(get(urlPathEqualTo("/bucket/")).willReturn(aResponse().withStatus(404)));
        assertThrows(FetchFailure.class, () -> client().list("gs://bucket/r/"));
    }

    @Test
    void anObjectThatIsListedTwiceIsThereOnceAndOneThatWasNotAskedForIsRefused() throws Exception {
        String one = "<Contents><Key>r/c</Key><LastModified>2026-11-20T11:59:00Z</LastModified></Contents>";
        server.stubFor(get(urlPathEqualTo("/bucket/")).willReturn(listing(one + one)));

        assertEquals(
                ImmutableList.of(new Listed("gs://bucket/r/c", Duration.ofMinutes(1))),
                client().list("gs://bucket/r/"));

        server.stubFor(get(urlPathEqualTo("/bucket/")).willReturn(listing(one.replace("r/c", ".json"))));
        assertTrue(assertThrows(FetchFailure.class, () -> client().list("gs://bucket/r/"))
                .words()
                .contains("not asked for"));
    }

    private static ResponseDefinitionBuilder listing(String objects) {
        return aResponse().withHeader("Date", "Fri, 20 Nov 2026 12:00:00 GMT").withBody(objects);
    }

    @Test
    void aListingWithoutEndIsNone() {
        server.stubFor(get(urlPathEqualTo("/bucket/"))
                .willReturn(aResponse()
                        .withHeader("Date", "Fri, 20 Nov 2026 12:00:00 GMT")
                        .withBody("<NextContinuationToken>more</NextContinuationToken>")));
        assertTrue(assertThrows(FetchFailure.class, () -> client().list("gs://bucket/r/", 3))
                .words()
                .contains("has no end;"));
    }

    @Test
    void namesInAListingAreBoundedTogether() {
        String many = ("<Contents><Key>r/" + "x".repeat(800_000)
                        + "</Key><LastModified>2026-11-20T11:59:00Z</LastModified></Contents>")
                .repeat(9);
        server.stubFor(get(urlPathEqualTo("/bucket/"))
                .willReturn(aResponse()
                        .withHeader("Date", "Fri, 20 Nov 2026 12:00:00 GMT")
                        .withBody(many + "<NextContinuationToken>more</NextContinuationToken>")));

        assertTrue(assertThrows(FetchFailure.class, () -> client().list("gs://bucket/r/"))
                .words()
                .contains("lists more objects than a fleet has machines"));
        server.verify(3, getRequestedFor(urlPathEqualTo("/bucket/")));
    }

    @Test
    void aServerThatQuotesTheRequestGivesNothingAway() {
        token = new Answer.Present("{\"access_token\": \"ya29.t0ken\", \"expires_in\": 3600}");
        server.stubFor(any(anyUrl())
                .willReturn(
                        aResponse().withStatus(400).withBody("<Error><Details>Bearer ya29.t0ken</Details></Error>")));

        assertEquals("the server answers 400: <Error><Details>Bearer (masked)</Details></Error>", failure(GOOGLE));
    }

    @Test
    void aLongVersionIsNone() {
        credentials = Identity.Known.NONE;
        server.stubFor(any(anyUrl()).willReturn(aResponse().withBody("{}").withHeader("ETag", "e".repeat(8_000))));

        assertEquals(
                "the server's answer has no ETag of at most 256 characters; is sources.bucket.endpoint right?",
                failure("s3://bucket/set.json"));
    }

    @Test
    void whatIsNotThereOrNotAllowedSaysWhatToDo() throws Exception {
        server.stubFor(any(anyUrl()).willReturn(aResponse().withStatus(404)));
        assertEquals(new Read.Missing(), client().get(GOOGLE, Optional.empty()));
        SetFetcher fetcher = fetcher(GOOGLE);
        assertEquals(
                "there is no such object; publish a set there, or correct sources.bucket.url",
                assertThrows(FetchFailure.class, () -> fetcher.fetch(Optional.empty()))
                        .words());
        assertEquals(GOOGLE, fetcher.name());

        server.stubFor(any(anyUrl()).willReturn(aResponse().withStatus(403)));
        BucketClient client = client();
        tokens = 0;
        for (int i = 1; i <= 2; i++) {
            assertEquals(
                    "the server answers 403: it does not let this machine do it; look at sources.bucket.credentials"
                            + " and the rights of its account",
                    assertThrows(FetchFailure.class, () -> client.get(GOOGLE, Optional.empty()))
                            .words());
            assertEquals(i, tokens, "a token that was refused is not kept");
        }

        server.stubFor(any(anyUrl()).willReturn(aResponse().withBody("{}")));
        assertEquals(
                "the server's answer has no x-goog-generation of at most 256 characters; is sources.bucket.endpoint right?",
                assertThrows(FetchFailure.class, () -> client.get(GOOGLE, Optional.empty()))
                        .words());
    }

    @Test
    void aFetcherTellsWhetherSomethingIsNew() throws Exception {
        server.stubFor(
                get(urlEqualTo(PATH)).willReturn(aResponse().withBody("{}").withHeader("x-goog-generation", "1")));
        server.stubFor(get(urlEqualTo(PATH))
                .withHeader("x-goog-if-generation-not-match", equalTo("1"))
                .willReturn(aResponse().withStatus(304)));

        assertEquals(new Fetched.File("1", CONTENT), fetcher(GOOGLE).fetch(Optional.empty()));
        assertEquals(new Fetched.NotModified(), fetcher(GOOGLE).fetch(Optional.of("1")));
    }

    @Test
    void aSignedUrlIsFetchedWithoutCredentials() throws Exception {
        server.stubFor(get(urlEqualTo("/set?X-Amz-Signature=s"))
                .willReturn(aResponse().withBody("{}").withHeader("ETag", "\"e\"")));

        SetFetcher fetcher = fetcher("http://127.0.0.1:" + server.getPort() + "/set?X-Amz-Signature=s");

        assertEquals(new Fetched.File("\"e\"", CONTENT), fetcher.fetch(Optional.empty()));
        server.verify(getRequestedFor(urlPathEqualTo("/set")).withHeader("Authorization", absent()));
        assertFalse(fetcher.name().contains("Signature"), fetcher.name());
        assertEquals(0, tokens);
    }

    @Test
    void keysOfAnInstanceOfEc2AreThoseOfItsRole() throws Exception {
        server.stubFor(put(urlEqualTo("/latest/api/token"))
                .withHeader("X-aws-ec2-metadata-token-ttl-seconds", equalTo("300"))
                .willReturn(aResponse().withBody("session")));
        String roles = "/latest/meta-data/iam/security-credentials/";
        server.stubFor(get(urlEqualTo(roles))
                .withHeader("X-aws-ec2-metadata-token", equalTo("session"))
                .willReturn(aResponse().withBody("fleet\n")));
        server.stubFor(get(urlEqualTo(roles + "fleet"))
                .willReturn(aResponse()
                        .withBody("{\"AccessKeyId\": \"id\", \"SecretAccessKey\": \"key\", \"Token\": \"with\","
                                + " \"Expiration\": \"2026-11-20T18:00:00Z\"}")));
        server.stubFor(get(urlEqualTo(PATH))
                .withHeader("x-amz-security-token", equalTo("with"))
                .withHeader("Authorization", matching(".*Credential=id/.*x-amz-security-token.*"))
                .willReturn(aResponse().withBody("{}").withHeader("ETag", "\"e1\"")));
        BucketClient client = client();

        assertInstanceOf(Read.Content.class, client.get(AMAZON, Optional.empty()));
        assertInstanceOf(Read.Content.class, client.get(AMAZON, Optional.empty()));
        server.verify(1, getRequestedFor(urlEqualTo(roles)));

        now = now.plus(Duration.ofDays(1));
        server.stubFor(get(urlEqualTo(roles + "fleet"))
                .willReturn(aResponse()
                        .withBody("{\"AccessKeyId\": \"id\", \"SecretAccessKey\": \"key\", \"Token\": \"with\","
                                + " \"Expiration\": \"-1000000000-01-01T00:00:00Z\"}")));
        assertInstanceOf(Read.Content.class, client.get(AMAZON, Optional.empty()));
        assertInstanceOf(Read.Content.class, client.get(AMAZON, Optional.empty()));

        server.stubFor(get(urlEqualTo(roles + "fleet"))
                .willReturn(aResponse()
                        .withBody("{\"AccessKeyId\": \"id\", \"SecretAccessKey\": \"key\", \"Token\": \"with\","
                                + " \"Expiration\": \"soon\"}")));
        assertEquals("the metadata service gives no proper keys; set sources.bucket.credentials", failure(AMAZON));
        server.stubFor(get(urlEqualTo(roles)).willReturn(aResponse().withStatus(404)));
        assertEquals(
                "the metadata service answers 404 where it should give keys; give the instance a role, or set"
                        + " sources.bucket.credentials",
                failure(AMAZON));
    }

    @Test
    void credentialsThatAreMissingAreNamed() throws Exception {
        token = new Answer.Absent();
        assertEquals(
                "the metadata server gives this instance no token; give it a service account, or set"
                        + " sources.bucket.credentials",
                failure(GOOGLE));
        token = new Answer.Unreachable("no metadata server answers");
        assertEquals("no metadata server answers; set sources.bucket.credentials", failure(GOOGLE));
        token = new Answer.Present("secret{");
        assertEquals("the metadata server's answer is not JSON; set sources.bucket.credentials", failure(GOOGLE));
        token = new Answer.Present("{\"access_token\": \"\"}");
        assertEquals(
                "the metadata server's answer has no access_token; set sources.bucket.credentials", failure(GOOGLE));
        credentials = keys("only-one\n");
        assertEquals(
                directory.resolve("keys")
                        + " (sources.bucket.credentials) has to have two lines: the id of the access key, and the key",
                failure(AMAZON));
        credentials = keys("a\nb\nc");
        assertEquals(
                "nothing can be sent with this secret; correct what sources.bucket.credentials names", failure(GOOGLE));
    }

    private Identity keys(String text) throws IOException {
        return new Identity.TokenFile(
                Files.writeString(directory.resolve("keys"), text).toString());
    }

    private String failure(String object) {
        BucketClient client = client();
        return assertThrows(FetchFailure.class, () -> client.get(object, Optional.empty()))
                .words();
    }

    private AgentConfig.Bucket config(String url) {
        return new AgentConfig.Bucket(
                url,
                null,
                credentials,
                "http://127.0.0.1:" + server.getPort() + "/",
                "eu-central-1",
                Duration.ofMinutes(1));
    }

    private SetFetcher fetcher(String url) {
        return BucketFetcher.of(config(url), metadata(), () -> now, new LargeSetLock());
    }

    private BucketClient client() {
        return new BucketClient(
                config(GOOGLE),
                metadata(),
                URI.create("http://127.0.0.1:" + server.getPort() + "/"),
                () -> now,
                new LargeSetLock());
    }

    private MetadataServer metadata() {
        return path -> {
            assertEquals("instance/service-accounts/default/token", path);
            tokens++;
            return token;
        };
    }
}
