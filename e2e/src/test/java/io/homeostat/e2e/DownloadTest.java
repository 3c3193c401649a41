package io.homeostat.e2e;

import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.github.tomakehurst.wiremock.client.ResponseDefinitionBuilder;
import io.homeostat.e2e.BrokenServer.End;
import io.homeostat.e2e.BrokenServer.Served;
import io.homeostat.e2e.Bucket.Stored;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a bucket can do to a download. No command ever shows the part of the URL that is a secret. */
final class DownloadTest {
    private static final int SIZE = 3_000_000;

    @RegisterExtension
    final Homeostat homeostat = new Homeostat();

    @RegisterExtension
    final Bucket bucket = new Bucket();

    private Stored archive = new Stored("", new byte[0], "");

    @BeforeEach
    void store() {
        archive = bucket.put("run.tar.gz", TarGz.ofScript("exec sleep 1000"));
        homeostat.keepsSecret(archive.signature());
    }

    @Test
    void whatCanNotBeDownloadedIsAFailureWithItsReason() {
        String gone = "http://127.0.0.1:1/x?X-Goog-Signature=" + archive.signature();
        Stored forbidden = answering("forbidden", Bucket.status(403));
        Stored missing = answering("missing", Bucket.status(404));
        Stored other = put("other");
        Stored failing = answering("failing", Bucket.status(503));
        Stored reset = answering("reset", Bucket.resetAtOnce());
        Stored slow = put("slow");
        bucket.answer(slow, Bucket.slow(slow.content(), 100_000));
        Stored circle = put("circle");
        bucket.answer(circle, Bucket.redirect(circle.path() + Bucket.query(circle)));
        Stored away = answering("away", Bucket.redirect("file:///etc/passwd"));
        Stored page = answering("page", Bucket.html("<!DOCTYPE html><html><body>Please log in</body></html>"));
        try (BrokenServer broken = new BrokenServer(large(), End.TRUNCATED, End.TRUNCATED)) {
            List<Failure> failures = List.of(
                    new Failure(declared(forbidden), "expired", bucket.url(forbidden.path())),
                    new Failure(declared(missing), "404", bucket.url(missing.path())),
                    new Failure(once(other).with("source.sha256", "0".repeat(64)), other.sha256(), "0".repeat(64)),
                    new Failure(declared(failing).with("source.attempts", 2), "503", "attempt 2 of 2"),
                    new Failure(once(reset), "connection"),
                    new Failure(
                            declared("truncated", broken.url("run.tar.gz")).with("source.attempts", 2),
                            "the connection broke"),
                    new Failure(once(slow).with("source.timeout", "1s"), "source.timeout"),
                    new Failure(once(circle), "redirects more than"),
                    new Failure(once(away), "neither http nor https"),
                    new Failure(once(page), "HTML page"),
                    new Failure(declared("gone", gone).with("source.attempts", 1), "no connection"));

            Result applied =
                    homeostat.apply(failures.stream().map(Failure::document).toArray(Document[]::new));

            applied.exits(1);
            assertTrue(applied.took().toSeconds() < 75, applied::toString);
            assertAll(failures.stream().<Executable>map(failure -> () -> {
                String id = failure.document().id();
                String line = applied.lineOf(id);
                failure.words().forEach(words -> assertTrue(line.contains(words), line));
                Result status = homeostat.run("status", "-o", "json", id).exits(1);
                assertEquals(
                        "INSTALL_FAILED", status.json().at("/workloads/0/state").asText());
                assertEquals(List.of("CONFIG_INSTALL 1", "INSTALL_FAILED 1"), homeostat.events(id));
            }));
        }
        assertEquals(1, bucket.requests(forbidden));
        assertEquals(1, bucket.requests(missing));
        assertEquals(2, bucket.requests(failing));
        assertTrue(bucket.requests(circle) <= 20, () -> bucket.requests(circle) + " requests");
        homeostat.run("plan").exits(0);
        homeostat.run("status").exits(1);
    }

    /** @param words that the line of the workload has to say */
    private record Failure(Document document, List<String> words) {
        Failure(Document document, String... words) {
            this(document, List.of(words));
        }
    }

    private Stored answering(String name, ResponseDefinitionBuilder answer) {
        Stored stored = put(name);
        bucket.answer(stored, answer);
        return stored;
    }

    /** An object of its own for each workload: what one has fetched another one with the same checksum need not. */
    private Stored put(String name) {
        Stored stored = bucket.put(name, TarGz.ofScript("exec sleep 1000 # " + name));
        homeostat.keepsSecret(stored.signature());
        return stored;
    }

    private Document once(Stored stored) {
        return declared(stored).with("source.attempts", 1);
    }

    private Document declared(Stored stored) {
        return declared(stored.path().replaceFirst(".*/", ""), bucket.signedUrl(stored))
                .with("source.sha256", stored.sha256());
    }

    @Test
    void anExpiredUrlIsReplacedByANewDeclaration() {
        bucket.expire(archive);
        homeostat.apply(declared()).exits(1).says("a new URL");
        Stored again = bucket.put("again.tar.gz", archive.content());
        homeostat.keepsSecret(again.signature());

        homeostat.applied(declared(bucket.signedUrl(again)));

        assertEquals("RUNNING 1", homeostat.state("process/run"));
    }

    @Test
    void aServerThatFailsForAWhileIsAskedAgain() {
        bucket.answer(archive, Bucket.status(503), Bucket.whole(archive.content()));

        homeostat.applied(declared());

        assertEquals(2, bucket.requests(archive));
    }

    @ParameterizedTest
    @ValueSource(strings = {"RESET", "TRUNCATED"})
    void aDownloadGoesOnWhereItBroke(String end) {
        byte[] content = large();
        try (BrokenServer server = new BrokenServer(content, End.valueOf(end), End.valueOf(end))) {
            homeostat
                    .apply(declared(server.url("run.tar.gz")).with("source.sha256", Hashes.sha256(content)))
                    .exits(0);

            List<Served> served = server.served();
            assertEquals(3, served.size(), served::toString);
            assertEquals("", served.getFirst().range());
            assertTrue(served.get(1).range().startsWith("bytes="), served::toString);
            // A reset may take what was under way with it; an orderly end may not.
            long wasted = server.bytesSent() - content.length;
            assertTrue(
                    wasted <= (end.equals("RESET") ? content.length / 4 : 0), () -> wasted + " bytes twice: " + served);
        }
        assertEquals("RUNNING 1", homeostat.state("process/run"));
    }

    @Test
    void aDownloadGoesOnInTheNextApply() {
        byte[] content = large();
        try (BrokenServer server = new BrokenServer(content, End.TRUNCATED)) {
            Document declared = declared(server.url("run.tar.gz?X-Goog-Signature=" + archive.signature()))
                    .with("source.sha256", Hashes.sha256(content))
                    .with("source.attempts", 1);
            homeostat.apply(declared).exits(1).says("the connection broke");

            homeostat.applied(declared);

            assertEquals(content.length, server.bytesSent(), () -> "bytes sent: " + server.served());
        }
    }

    @Test
    void anArchiveThatWasPublishedAnewMeanwhileIsFetchedFromItsBeginning() {
        byte[] content = large();
        try (BrokenServer server = new BrokenServer(content, End.TRUNCATED)) {
            Document declared = declared(server.url("run.tar.gz"))
                    .with("source.sha256", Hashes.sha256(content))
                    .with("source.attempts", 1);
            homeostat.apply(declared).exits(1);
            server.republish();

            homeostat.applied(declared);

            assertEquals(content.length, server.served().getLast().sent());
        }
    }

    @Test
    void aSlowBodyArrives() {
        bucket.answer(archive, Bucket.slow(archive.content(), 3000));

        homeostat.applied(declared());
    }

    @ParameterizedTest
    @ValueSource(strings = {"/bucket/run.tar.gz", "http:"})
    void aRedirectIsFollowed(String target) {
        Stored moved = bucket.put("moved.tar.gz", new byte[0]);
        homeostat.keepsSecret(moved.signature());
        String location = (target.startsWith("/") ? target : bucket.url(archive.path())) + Bucket.query(archive);
        bucket.answer(moved, Bucket.redirect(location));

        homeostat.applied(declared(bucket.signedUrl(moved)));

        assertEquals(1, bucket.requests(archive));
    }

    private Document declared() {
        return declared(bucket.signedUrl(archive)).with("source.sha256", archive.sha256());
    }

    private static Document declared(String url) {
        return declared("run", url);
    }

    private static Document declared(String name, String url) {
        return Document.process(name)
                .with("revision", "1")
                .with("source.url", url)
                .with("entryPoint", "bin/run");
    }

    /** An archive that does not fit into the buffers on its way. */
    private static byte[] large() {
        byte[] noise = new byte[SIZE];
        new Random(1).nextBytes(noise);
        return new TarGz()
                .file("bin/run", 0755, "#!/bin/sh\nexec sleep 1000\n")
                .file("noise", 0644, noise)
                .bytes();
    }
}
