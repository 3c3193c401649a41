package io.homeostat.desired.remote;

import static com.github.tomakehurst.wiremock.client.WireMock.aResponse;
import static com.github.tomakehurst.wiremock.client.WireMock.absent;
import static com.github.tomakehurst.wiremock.client.WireMock.binaryEqualTo;
import static com.github.tomakehurst.wiremock.client.WireMock.equalTo;
import static com.github.tomakehurst.wiremock.client.WireMock.get;
import static com.github.tomakehurst.wiremock.client.WireMock.put;
import static com.github.tomakehurst.wiremock.client.WireMock.putRequestedFor;
import static com.github.tomakehurst.wiremock.client.WireMock.urlPathEqualTo;
import static com.github.tomakehurst.wiremock.core.WireMockConfiguration.wireMockConfig;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.github.tomakehurst.wiremock.junit5.WireMockExtension;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import com.google.protobuf.ByteString;
import io.homeostat.controlplane.EtcdCluster;
import io.homeostat.desired.etcd.EtcdKeyValues;
import io.homeostat.desired.fleet.FleetKeys;
import io.homeostat.desired.fleet.SetFile;
import io.homeostat.desired.fleet.SetReader;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.platform.MetadataServer;
import io.homeostat.desired.remote.SetFetcher.Fetched;
import io.homeostat.desired.signature.TrustedKeys;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.Base64;
import java.util.Optional;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/** Whoever publishes replaces what he has seen, and nothing else. */
class SetTargetsTest {
    private static final String PATH = "/set.json";
    private static final SetFile ONE = set("one");
    private static final SetFile TWO = set("two");

    @RegisterExtension
    final WireMockExtension server = WireMockExtension.newInstance()
            .options(wireMockConfig().dynamicPort().bindAddress("127.0.0.1").gzipDisabled(true))
            .build();

    @TempDir
    Path directory;

    @Test
    void aFileIsReplacedUnlessSomebodyElseHasDoneSo() throws Exception {
        Path file = directory.resolve("set.json");
        FileTarget mine = new FileTarget(file);
        FileTarget other = new FileTarget(file);

        assertEquals(Optional.empty(), mine.read());
        assertEquals(Optional.empty(), other.read());
        assertTrue(mine.write(ONE));
        assertEquals("rw-r--r--", PosixFilePermissions.toString(Files.getPosixFilePermissions(file)));
        assertFalse(other.write(TWO));
        assertArrayEquals(ONE.bytes(), Files.readAllBytes(file));
        assertEquals(Optional.of(new Fetched.File("", ByteString.copyFrom(ONE.bytes()))), other.read());
        assertTrue(other.write(TWO));
        assertArrayEquals(TWO.bytes(), Files.readAllBytes(file));
    }

    @Test
    void aFileThatCantBeWrittenIsNamed() throws Exception {
        FileTarget target = new FileTarget(directory.resolve("gone/set.json"));

        assertEquals(Optional.empty(), target.read());
        String words = assertThrows(FetchFailure.class, () -> target.write(ONE)).words();
        assertEquals("it can't be written: " + directory + "/gone: it is gone", words);
    }

    @Test
    void aWebServerIsGivenWhatReplacesWhatItHad() throws Exception {
        server.stubFor(
                get(PATH).willReturn(aResponse().withHeader("ETag", "\"v1\"").withBody(ONE.bytes())));
        server.stubFor(put(PATH).willReturn(aResponse().withStatus(204)));
        HttpsTarget target = https(null);

        assertEquals(Optional.of(new Fetched.File("\"v1\"", ByteString.copyFrom(ONE.bytes()))), target.read());
        assertTrue(target.write(TWO));
        server.verify(putRequestedFor(urlPathEqualTo(PATH))
                .withHeader("If-Match", equalTo("\"v1\""))
                .withHeader("If-None-Match", absent())
                .withRequestBody(binaryEqualTo(TWO.bytes())));

        server.stubFor(put(PATH).willReturn(aResponse().withStatus(412)));
        assertFalse(target.write(TWO));
    }

    @Test
    void theFirstSetOfAWebServerReplacesNothing() throws Exception {
        Path token = Files.writeString(directory.resolve("token"), "hush\n");
        server.stubFor(get(PATH).willReturn(aResponse().withStatus(404)));
        server.stubFor(put(PATH).willReturn(aResponse().withStatus(201)));
        HttpsTarget target = https(token.toString());

        assertEquals(Optional.empty(), target.read());
        assertTrue(target.write(ONE));
        server.verify(putRequestedFor(urlPathEqualTo(PATH))
                .withHeader("If-None-Match", equalTo("*"))
                .withHeader("Authorization", equalTo("Bearer hush"))
                .withHeader("If-Match", absent()));
    }

    @Test
    void whatAWebServerRefusesIsSaidWithTheRemedy() throws Exception {
        server.stubFor(get(PATH).willReturn(aResponse().withBody("x")));
        HttpsTarget target = https(null);
        assertFails(
                "the server sends no ETag of at most 256 characters, so nobody could tell whether somebody else has published since; have it send one,"
                        + " or publish to a file in its directory",
                target::read);
        server.stubFor(get(PATH).willReturn(aResponse().withStatus(403)));
        assertFails(
                "the server answers 403: it does not let us read it; look at sources.https.tokenFile and tls",
                target::read);
        server.stubFor(put(PATH).willReturn(aResponse().withStatus(405)));
        assertFails(
                "the server answers 405: it does not take PUT; publish to a file in its directory",
                () -> target.write(ONE));
        server.stubFor(put(PATH).willReturn(aResponse().withStatus(500).withBody("no\nspace")));
        assertFails("the server answers 500: no space", () -> target.write(ONE));
        HttpsTarget open =
                new HttpsTarget(new AgentConfig.Https("http://example.org/set.json", null, null, Duration.ofDays(1)));
        assertFails("it is not https, so anybody on the way could write something else; name an https URL", open::read);
    }

    @Test
    void aBucketIsGivenWhatReplacesWhatItHad() throws Exception {
        Path token = Files.writeString(directory.resolve("token"), "hush\n");
        server.stubFor(get("/b/set.json")
                .willReturn(aResponse().withHeader("x-goog-generation", "17").withBody(ONE.bytes())));
        server.stubFor(put("/b/set.json").willReturn(aResponse().withHeader("x-goog-generation", "18")));
        BucketTarget target = bucket("gs://b/set.json", token);

        assertEquals(Optional.of(new Fetched.File("17", ByteString.copyFrom(ONE.bytes()))), target.read());
        assertTrue(target.write(TWO));
        server.verify(putRequestedFor(urlPathEqualTo("/b/set.json"))
                .withHeader("x-goog-if-generation-match", equalTo("17"))
                .withRequestBody(binaryEqualTo(TWO.bytes())));

        server.stubFor(put("/b/set.json").willReturn(aResponse().withStatus(412)));
        assertFalse(target.write(TWO));
        server.stubFor(get("/b/set.json").willReturn(aResponse().withStatus(404)));
        assertEquals(Optional.empty(), target.read());
        assertFails(
                "a signed URL is for reading; write gs://BUCKET/OBJECT or s3://BUCKET/OBJECT",
                () -> bucket("https://storage.example.org/b/set.json?X-Signature=hush", token)
                        .read());
    }

    private BucketTarget bucket(String object, Path token) {
        return new BucketTarget(
                object,
                new BucketClient(
                        new AgentConfig.Bucket(
                                object,
                                null,
                                new AgentConfig.Identity.TokenFile(token.toString()),
                                server.baseUrl(),
                                "us-east-1",
                                Duration.ofDays(1)),
                        path -> new MetadataServer.Answer.Absent(),
                        Clock.systemUTC()));
    }

    @Test
    @EnabledIf("io.homeostat.controlplane.EtcdCluster#isInstalled")
    void etcdTakesWhatReplacesWhatItHad() throws Exception {
        try (EtcdCluster etcd = EtcdCluster.start(directory, 1);
                EtcdTarget mine = etcd(etcd);
                EtcdTarget other = etcd(etcd)) {
            assertEquals(Optional.empty(), mine.read());
            assertEquals(Optional.empty(), other.read());
            assertTrue(mine.write(ONE));
            assertFalse(other.write(TWO));
            Fetched.File found = (Fetched.File) other.read().orElseThrow();
            assertEquals(
                    42,
                    new SetReader(new AgentConfig.SignedSets(false, ImmutableList.of(), "default"), TrustedKeys.NONE)
                            .read(found.content(), "set")
                            .sequence());
            assertTrue(other.write(TWO));
            assertFalse(mine.write(ONE));
            byte[] noise = new byte[2 << 20];
            new Random(1).nextBytes(noise);
            SetFile large = set(Base64.getEncoder().encodeToString(noise));
            assertFails(
                    "the set has " + large.compressed().length
                            + " bytes compressed, and etcd takes 1 MiB; publish it to git, a bucket or a web server",
                    () -> other.write(large));
        }
    }

    private static EtcdTarget etcd(EtcdCluster etcd) {
        return new EtcdTarget(
                new EtcdKeyValues(
                        new AgentConfig.Etcd(ImmutableList.copyOf(etcd.endpoints()), "/homeostat", null, null)),
                new FleetKeys("/homeostat"));
    }

    private HttpsTarget https(@Nullable String tokenFile) {
        return new HttpsTarget(new AgentConfig.Https(server.baseUrl() + PATH, tokenFile, null, Duration.ofDays(1)));
    }

    private static SetFile set(String text) {
        return SetFile.of("default", 42, Instant.EPOCH, ImmutableSortedMap.of("a.yaml", text), Optional.empty());
    }

    private static void assertFails(String message, Executable call) {
        assertEquals(message, assertThrows(FetchFailure.class, call).words());
    }
}
