package io.homeostat.e2e;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.e2e.BrokenServer.End;
import io.homeostat.e2e.BrokenServer.Served;
import io.homeostat.e2e.Bucket.Stored;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
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

    @ParameterizedTest
    @CsvSource({"403, expired", "404, 404"})
    void aRefusalIsFinal(int status, String words) {
        bucket.answer(archive, Bucket.status(status));

        homeostat.apply(declared()).exits(1).says("process/run").says(words).says(bucket.url(archive.path()));

        assertEquals(1, bucket.requests(archive));
        assertFailed();
        homeostat.run("status").exits(1);
    }

    @Test
    void anExpiredUrlIsReplacedByANewDeclaration() {
        bucket.expire(archive);
        homeostat.apply(declared()).exits(1).says("declare the workload again with a new URL");
        Stored again = bucket.put("again.tar.gz", archive.content());
        homeostat.keepsSecret(again.signature());

        homeostat.apply(declared(bucket.signedUrl(again))).exits(0);

        assertEquals("RUNNING 1", homeostat.state("process/run"));
    }

    @Test
    void anArchiveWithAnotherChecksumIsNotUsed() {
        homeostat
                .apply(declared().with("source.sha256", "0".repeat(64)).with("source.attempts", 1))
                .exits(1)
                .says(archive.sha256())
                .says("0".repeat(64));

        assertFailed();
    }

    @Test
    void aServerThatFailsForAWhileIsAskedAgain() {
        bucket.answer(archive, Bucket.status(503), Bucket.whole(archive.content()));

        homeostat.apply(declared()).exits(0);

        assertEquals(2, bucket.requests(archive));
    }

    @Test
    void aServerThatGoesOnFailingIsAskedAsOftenAsDeclared() {
        bucket.answer(archive, Bucket.status(503));

        homeostat
                .apply(declared().with("source.attempts", 2))
                .exits(1)
                .says("503")
                .says("attempt 2 of 2");

        assertEquals(2, bucket.requests(archive));
        assertFailed();
    }

    @Test
    void aConnectionThatIsResetAtOnceIsAnError() {
        bucket.answer(archive, Bucket.resetAtOnce());

        homeostat.apply(declared().with("source.attempts", 1)).exits(1).says("connection");

        assertFailed();
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

            homeostat.apply(declared).exits(0);

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

            homeostat.apply(declared).exits(0);

            assertEquals(content.length, server.served().getLast().sent());
        }
    }

    @Test
    void aBodyThatIsShorterThanAnnouncedIsNeverUsed() {
        byte[] content = large();
        End[] always = {End.TRUNCATED, End.TRUNCATED};
        try (BrokenServer server = new BrokenServer(content, always)) {
            homeostat
                    .apply(declared(server.url("run.tar.gz")).with("source.attempts", 2))
                    .exits(1)
                    .says("the connection broke");
        }
        assertFailed();
    }

    @Test
    void aSlowBodyArrives() {
        bucket.answer(archive, Bucket.slow(archive.content(), 3000));

        homeostat.apply(declared()).exits(0);
    }

    @Test
    void aBodyThatIsTooSlowForItsTimeoutIsAnError() {
        bucket.answer(archive, Bucket.slow(archive.content(), 20_000));

        Result applied = homeostat.apply(declared().with("source.timeout", "1s").with("source.attempts", 1));

        applied.exits(1).says("source.timeout");
        assertTrue(applied.took().toSeconds() < 15, applied::toString);
        assertFailed();
    }

    @ParameterizedTest
    @ValueSource(strings = {"/bucket/run.tar.gz", "http:"})
    void aRedirectIsFollowed(String target) {
        Stored moved = bucket.put("moved.tar.gz", new byte[0]);
        homeostat.keepsSecret(moved.signature());
        String location = (target.startsWith("/") ? target : bucket.url(archive.path())) + Bucket.query(archive);
        bucket.answer(moved, Bucket.redirect(location));

        homeostat.apply(declared(bucket.signedUrl(moved))).exits(0);

        assertEquals(1, bucket.requests(archive));
    }

    @Test
    void redirectsInACircleEnd() {
        bucket.answer(archive, Bucket.redirect(archive.path() + Bucket.query(archive)));

        homeostat.apply(declared().with("source.attempts", 1)).exits(1).says("redirects more than");

        assertTrue(bucket.requests(archive) <= 20, () -> bucket.requests(archive) + " requests");
        assertFailed();
    }

    @Test
    void aRedirectAwayFromHttpIsNotFollowed() {
        bucket.answer(archive, Bucket.redirect("file:///etc/passwd"));

        homeostat.apply(declared().with("source.attempts", 1)).exits(1).says("neither http nor https");

        assertFailed();
    }

    @Test
    void aPageInsteadOfAnArchiveIsCalledByItsName() {
        bucket.answer(archive, Bucket.html("<!DOCTYPE html><html><body>Please log in</body></html>"));

        homeostat.apply(declared().with("source.attempts", 1)).exits(1).says("HTML page");

        assertFailed();
    }

    @Test
    void aServerThatIsNotThereIsAnError() {
        String url = bucket.url("/x?X-Goog-Signature=" + archive.signature());
        bucket.close();

        homeostat.apply(declared(url).with("source.attempts", 1)).exits(1).says("no connection");

        assertFailed();
    }

    private void assertFailed() {
        Result status = homeostat.run("status", "-o", "json", "process/run").exits(1);
        assertEquals("INSTALL_FAILED", status.json().at("/workloads/0/state").asText());
        assertEquals(List.of("CONFIG_INSTALL 1", "INSTALL_FAILED 1"), homeostat.events("process/run"));
        homeostat.run("plan").exits(0);
    }

    private Document declared() {
        return declared(bucket.signedUrl(archive)).with("source.sha256", archive.sha256());
    }

    private static Document declared(String url) {
        return Document.process("run")
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
