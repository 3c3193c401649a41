package io.homeostat.desired.remote;

import com.google.protobuf.ByteString;
import com.google.protobuf.UnsafeByteOperations;
import io.homeostat.desired.platform.GzipMembers;
import io.homeostat.desired.platform.HttpRequests;
import java.io.IOException;
import java.io.InputStream;
import java.io.PushbackInputStream;
import java.net.ConnectException;
import java.net.HttpURLConnection;
import java.net.InetAddress;
import java.net.ProtocolException;
import java.net.URI;
import java.net.UnknownHostException;
import java.net.http.HttpClient;
import java.net.http.HttpConnectTimeoutException;
import java.net.http.HttpHeaders;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.channels.UnresolvedAddressException;
import java.time.Duration;
import java.util.zip.ZipException;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/** One request to a web server, of which the whole answer is wanted. */
final class HttpGet {
    private static final Duration LIMIT = Duration.ofMinutes(1);

    /** The most bytes that are kept of an answer without content that somebody wants: more than the start of it that is shown. */
    private static final int EXCERPT = 64 << 10;

    private HttpGet() {}

    /** An answer to a request, with all of its body if that is what was asked for. */
    record Answer(HttpRequest request, int status, HttpHeaders headers, ByteString body) {
        /** The start of a text, as it may be shown. */
        String excerpt() {
            String text = HttpRequests.quoted(
                    request, body.substring(0, Math.min(body.size(), EXCERPT)).toStringUtf8());
            return text.isEmpty() ? "" : ": " + text;
        }
    }

    /** An answer that was read up to the size from which on it needs the {@link LargeSetLock}. */
    private record Begun(HttpRequest request, int status, HttpHeaders headers, InputStream body, ByteString beginning) {
        static Begun of(HttpResponse<InputStream> response) throws IOException {
            InputStream body = unpacked(response);
            boolean wanted = response.statusCode() == HttpURLConnection.HTTP_OK
                    && response.request().method().equals("GET");
            byte[] beginning = body.readNBytes(wanted ? LargeSetLock.SMALL + 1 : EXCERPT);
            return new Begun(
                    response.request(),
                    response.statusCode(),
                    response.headers(),
                    body,
                    UnsafeByteOperations.unsafeWrap(beginning));
        }

        boolean isLarge() {
            return beginning.size() > LargeSetLock.SMALL;
        }

        Answer answer() throws IOException {
            try (body) {
                return new Answer(request, status, headers, isLarge() ? all() : beginning);
            }
        }

        private ByteString all() throws IOException {
            byte[] bytes = new byte[SetFetcher.MAX_BYTES + 1];
            beginning.copyTo(bytes, 0);
            int length = beginning.size();
            length += body.readNBytes(bytes, length, bytes.length - length);
            return UnsafeByteOperations.unsafeWrap(bytes, 0, length);
        }
    }

    /**
     * Sends a request, of which the answer may be of any size at once. A client that gets no answer is shut down.
     *
     * @throws FetchFailure when there is no answer, or too long a one
     */
    static Answer send(HttpClient client, HttpRequest request) throws FetchFailure, InterruptedException {
        return send(client, request, new LargeSetLock());
    }

    /**
     * Sends a request, of which the answer has no more than a small set. A client that gets no answer is shut down.
     *
     * @throws FetchFailure when there is no answer, or too long a one
     */
    static Answer sendForSmall(HttpClient client, HttpRequest request) throws FetchFailure, InterruptedException {
        return answer(client, request, null);
    }

    /**
     * Sends a request. A client that gets no answer is shut down.
     *
     * @param large acquired before more of an answer is read than a small set has; waiting for it does not count as time of the server
     * @throws FetchFailure when there is no answer, or too long a one
     */
    static Answer send(HttpClient client, HttpRequest request, LargeSetLock large)
            throws FetchFailure, InterruptedException {
        return answer(client, request, large);
    }

    private static Answer answer(HttpClient client, HttpRequest request, @Nullable LargeSetLock large)
            throws FetchFailure, InterruptedException {
        TimeLimit limit = new TimeLimit(LIMIT);
        boolean complete = false;
        try {
            Begun begun = limit.within(() -> Begun.of(client.send(request, HttpRequests.body())));
            if (begun.isLarge()) {
                if (large == null) {
                    throw new FetchFailure("it has more than " + (LargeSetLock.SMALL >> 20) + " MiB");
                }
                large.acquire();
            }
            Answer answer = limit.within(begun::answer);
            complete = true;
            return answer;
        } catch (IOException | RuntimeException e) {
            throw new FetchFailure(words(request, e), e);
        } finally {
            if (!complete) {
                // To close it would wait for the end of the answer.
                client.shutdownNow();
            }
        }
    }

    /** What the answer to a request for a set has. */
    static ByteString body(Answer answer) throws FetchFailure {
        if (answer.body().size() > SetFetcher.MAX_BYTES) {
            throw new FetchFailure("it has more than 16 MiB, which is the most that a set may have");
        }
        return answer.body();
    }

    /** Returns the content of an answer. A server may pack it, and say so also where there is none, such as with 304. */
    static InputStream unpacked(HttpResponse<InputStream> response) throws IOException {
        String encoding = response.headers().firstValue("Content-Encoding").orElse("");
        if (!encoding.equalsIgnoreCase("gzip") && !encoding.equalsIgnoreCase("x-gzip")) {
            return response.body();
        }
        PushbackInputStream packed = new PushbackInputStream(response.body());
        int first = packed.read();
        if (first < 0) {
            return packed;
        }
        packed.unread(first);
        return new GzipMembers(packed);
    }

    /** What went wrong, without what the exception may quote of a URL. */
    static String words(HttpRequest request, Exception e) {
        String host = host(request.uri());
        return switch (e) {
            case HttpConnectTimeoutException late -> "no connection to " + host + " within 10 s";
            case ConnectException refused ->
                refused.getCause() instanceof UnresolvedAddressException
                        ? "the host " + host + " can't be found"
                        : "no connection to " + host
                                + (refused.getMessage() == null ? "" : ": " + refused.getMessage());
            case UnknownHostException unknown -> "the host " + host + " can't be found";
            case ZipException damaged -> "the answer of " + host + " is damaged: " + message(request, damaged);
            case SSLException tls -> "no secure connection to " + host + ": " + message(request, tls);
            case IOException other
            when other.getCause() instanceof ProtocolException invalid ->
                "the answer of " + host + " is not taken: " + message(request, invalid);
            case IOException other -> "no answer of " + host + ": " + message(request, other);
            // The JDK's client throws anything at what it does not expect.
            default ->
                "the answer of " + host + " is not valid HTTP; look whether it, or a proxy in between, is a web server";
        };
    }

    private static String host(URI uri) {
        return uri.getHost() + (uri.getPort() < 0 ? "" : ":" + uri.getPort());
    }

    private static String message(HttpRequest request, IOException e) {
        return e.getMessage() == null ? e.getClass().getSimpleName() : HttpRequests.quoted(request, e.getMessage());
    }

    /** Whether a host is this machine, by its address or as localhost, so that nobody reads what is sent there. */
    static boolean isLoopback(String host) {
        if (host.equals("localhost")) {
            return true;
        }
        try {
            return InetAddress.ofLiteral(host).isLoopbackAddress();
        } catch (IllegalArgumentException e) {
            return false;
        }
    }
}
