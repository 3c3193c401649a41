package io.homeostat.actuate.fetch;

import static com.github.tomakehurst.wiremock.client.WireMock.aResponse;
import static com.github.tomakehurst.wiremock.client.WireMock.equalTo;
import static com.github.tomakehurst.wiremock.client.WireMock.get;
import static com.github.tomakehurst.wiremock.client.WireMock.urlPathEqualTo;
import static com.github.tomakehurst.wiremock.core.WireMockConfiguration.wireMockConfig;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.github.tomakehurst.wiremock.client.ResponseDefinitionBuilder;
import com.github.tomakehurst.wiremock.core.Options;
import com.github.tomakehurst.wiremock.junit5.WireMockExtension;
import com.github.tomakehurst.wiremock.stubbing.Scenario;
import com.google.common.collect.ImmutableList;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.Disk;
import io.homeostat.actuate.LocalDisk;
import io.homeostat.actuate.Machine;
import io.homeostat.actuate.fetch.Downloader.DownloadLimits;
import io.homeostat.actuate.fetch.Downloader.Progress;
import io.homeostat.actuate.unpack.TarBuilder;
import io.homeostat.desired.model.Source;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** A downloader with a bucket before it, and what has to be so after each download. */
abstract class DownloadTestBed {
    static final String PATH = "/bucket/greeter.tar.gz";
    static final String SIGNED = PATH + "?X-Signature=sesame&X-Expires=1";
    static final Instant NOW = Instant.parse("2026-11-20T12:00:00Z");

    @RegisterExtension
    final WireMockExtension bucket = WireMockExtension.newInstance()
            .options(wireMockConfig().dynamicPort().useChunkedTransferEncoding(Options.ChunkedEncodingPolicy.NEVER))
            .build();

    @TempDir
    Path temp;

    final byte[] archive = new TarBuilder().program("run").tarGz();
    final String key = Machine.sha256(archive);
    final List<Duration> pauses = new ArrayList<>();

    Machine machine;
    Downloader downloader;

    @BeforeEach
    void setUp() {
        machine = Machine.in(temp);
        downloader = downloader(DownloadLimits.DEFAULT, new LocalDisk());
    }

    @AfterEach
    void tearDown() {
        downloader.close();
    }

    Downloader downloader(DownloadLimits limits, Disk disk) {
        return downloader(limits, disk, Downloader.AT_ONCE, Downloader.OF_ONE_SERVER);
    }

    Downloader downloader(DownloadLimits limits, Disk disk, int atOnce, int ofOneServer) {
        Timing timing = new Timing(InstantSource.fixed(NOW), System::nanoTime, pauses::add, new Random(1));
        return new Downloader(machine.layout(), () -> limits, disk, timing, atOnce, ofOneServer);
    }

    ResponseDefinitionBuilder ok() {
        return aResponse().withHeader("Content-Type", "application/gzip").withBody(archive);
    }

    void serve(ResponseDefinitionBuilder response) {
        bucket.stubFor(get(urlPathEqualTo(PATH)).willReturn(response));
    }

    void serveInTurn(ResponseDefinitionBuilder... responses) {
        for (int i = 0; i < responses.length; i++) {
            bucket.stubFor(get(urlPathEqualTo(PATH))
                    .withQueryParam("X-Signature", equalTo("sesame"))
                    .inScenario("in turn")
                    .whenScenarioStateIs(i == 0 ? Scenario.STARTED : "turn " + i)
                    .willSetStateTo("turn " + (i + 1))
                    .willReturn(responses[i]));
        }
    }

    Source source() {
        return source(bucket.url(SIGNED), key, 3);
    }

    static Source source(String url, @Nullable String sha256, int attempts) {
        return new Source(url, sha256, Duration.ofSeconds(30), attempts);
    }

    ActuationFailure failure(Source source) {
        return failure(key, source, downloader);
    }

    static ActuationFailure failure(String key, Source source, Downloader downloader) {
        ActuationFailure failure =
                assertThrows(ActuationFailure.class, () -> downloader.download(key, source, Progress.NONE));
        StringWriter everything = new StringWriter();
        failure.printStackTrace(new PrintWriter(everything));
        assertFalse(everything.toString().contains("sesame"), () -> "a secret is shown: " + everything);
        return failure;
    }

    static void assertMessage(ActuationFailure failure, String expected) {
        String message = String.valueOf(failure.getMessage());
        assertTrue(message.contains(expected), message);
        assertTrue(message.startsWith("downloading "), message);
    }

    void assertComplete() throws IOException {
        assertArrayEquals(archive, Files.readAllBytes(machine.layout().archive(key)));
        assertNothingLeft();
    }

    void assertNothingLeft() {
        try (Stream<Path> left = Files.list(machine.layout().downloads())) {
            assertEquals(ImmutableList.of(), left.collect(ImmutableList.toImmutableList()));
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }
}
