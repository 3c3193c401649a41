package io.homeostat.actuate.fetch;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.fetch.Downloader.DownloadLimits;
import io.homeostat.actuate.fetch.Downloader.Progress;
import io.homeostat.desired.model.Source;
import io.homeostat.desired.state.history.FailureCause;
import java.io.IOException;
import java.io.OutputStream;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Servers that go on for ever, with anything that an answer may have. */
final class EndlessAnswersTest extends PartialDownloadTestBed {
    private static final int TOO_MUCH = 64 << 20;
    private static final String OK = "HTTP/1.1 200 OK\r\n";
    private static final String CHUNKED = OK + "Transfer-Encoding: chunked\r\n\r\n";
    private static final String KEY = "unverified-" + "a".repeat(64);

    @ParameterizedTest
    @ValueSource(ints = {1, 8000})
    void trailersWithoutEndAreNotRead(int length) throws Exception {
        byte[] trailers = repeated("T: " + "x".repeat(length) + "\r\n");
        RawServer.Answer whole = RawServer.chunked(archive, 100_000, false);
        CompletableFuture<Boolean> closed = new CompletableFuture<>();
        try (RawServer server = new RawServer(out -> {
            whole.write(out);
            out.write("0\r\n".getBytes(US_ASCII));
            closed.complete(isClosedWithin(TOO_MUCH, out, trailers));
        })) {
            download(server, key, 1, Progress.NONE);
            assertTrue(closed.get(1, TimeUnit.MINUTES));
        }

        assertComplete();
    }

    @Test
    void whatHasABoundIsInvalidBeyondIt() throws Exception {
        String[][] answers = {
            {"", "HTTP/1.1 100 \r\n\r\n"},
            {"", "HTTP/1.1 103 Early\r\nLink: x\r\n\r\n"},
            {"HTTP/1.1 200 ", "x"},
            {OK, "X: x\r\n"},
            {OK + "X: x\r\n", " \r\n"},
            {CHUNKED + "5;", "x"},
            {CHUNKED, "0"},
            {CHUNKED, "1\r\nx\r\nffffffff\r\n"},
            {CHUNKED, "1\r\nx\r\n"},
        };
        for (String[] answer : answers) {
            ActuationFailure failure = failure(answer[0], repeated(answer[1]), TOO_MUCH, Duration.ofSeconds(60));

            assertEquals(FailureCause.of(FailureCause.Kind.CONTENT), failure.failureCause(), answer[0] + answer[1]);
        }
    }

    @Test
    void whatHasNoneEndsWithItsTime() throws Exception {
        String[][] answers = {
            {OK, "x\r\n"}, {OK + "\r\n", "x"}, {CHUNKED, "40\r\n" + "x".repeat(64) + "\r\n"},
        };
        for (String[] answer : answers) {
            ActuationFailure failure = failure(answer[0], repeated(answer[1]), Long.MAX_VALUE, Duration.ofMillis(500));

            assertEquals(FailureCause.of(FailureCause.Kind.TIMED_OUT), failure.failureCause(), answer[0] + answer[1]);
        }
    }

    @Test
    void aServerThatSendsOneByteAtATimeHasNoMoreOfIt() throws Exception {
        for (String begin : new String[] {"HTTP/1.1 200 ", OK + "X: ", OK + "\r\n", CHUNKED + "5;"}) {
            ActuationFailure failure = failure(begin, new byte[] {'x'}, Long.MAX_VALUE, Duration.ofMillis(500));

            assertEquals(FailureCause.of(FailureCause.Kind.TIMED_OUT), failure.failureCause(), begin);
        }
    }

    private ActuationFailure failure(String begin, byte[] over, long most, Duration timeout) throws Exception {
        CompletableFuture<Boolean> closed = new CompletableFuture<>();
        AtomicBoolean asked = new AtomicBoolean();
        try (RawServer server = new RawServer(out -> {
                    asked.set(true);
                    out.write(begin.getBytes(US_ASCII));
                    closed.complete(isClosedWithin(most, out, over));
                });
                Downloader downloader = downloader(DownloadLimits.DEFAULT)) {
            Source source = new Source(server.url(), null, timeout, 1);
            ActuationFailure failure =
                    assertThrows(ActuationFailure.class, () -> downloader.download(KEY, source, Progress.NONE));

            if (!asked.get()) {
                // On a busy machine nothing is asked for in time.
                return failure(begin, over, most, timeout.multipliedBy(2));
            }
            assertTrue(closed.get(1, TimeUnit.MINUTES), begin);
            assertFalse(String.valueOf(failure.getMessage()).contains("sesame"), failure.getMessage());
            return failure;
        }
    }

    /** Writes the same over and over, single bytes slowly, until the client closes the connection or that many bytes. */
    private static boolean isClosedWithin(long most, OutputStream out, byte[] over) throws InterruptedException {
        CountDownLatch pause = new CountDownLatch(1);
        try {
            for (long written = 0; written < most; written += over.length) {
                out.write(over);
                if (over.length == 1 && pause.await(20, TimeUnit.MILLISECONDS)) {
                    break;
                }
            }
            return false;
        } catch (IOException e) {
            return true;
        }
    }

    private static byte[] repeated(String text) {
        return text.repeat(1 + 60_000 / text.length()).getBytes(US_ASCII);
    }
}
