package io.homeostat.actuate.fetch;

import io.homeostat.actuate.Chunk;
import io.homeostat.actuate.fetch.DownloadAttempt.Fetched;
import io.homeostat.actuate.fetch.DownloadAttempt.Fetched.Body;
import io.homeostat.actuate.fetch.Timing.Deadline;
import io.homeostat.desired.model.Redaction;
import io.homeostat.desired.platform.HttpRequests;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.desired.state.history.FailureCause.Kind;
import java.io.EOFException;
import java.io.IOException;
import java.net.ConnectException;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.http.HttpClient;
import java.net.http.HttpHeaders;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodySubscriber;
import java.nio.ByteBuffer;
import java.nio.channels.UnresolvedAddressException;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Flow;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Requests an archive, or the rest of one, from an HTTP server. Follows redirects itself, so that none leads away from HTTP or from TLS.
 */
final class HttpFetch implements AutoCloseable {
    private static final int MAX_REDIRECTS = 5;

    private final InstantSource clock;
    private @Nullable HttpClient client;

    HttpFetch(InstantSource clock) {
        this.clock = clock;
    }

    /** @param offset how many bytes we already have, of the version that the validator names */
    Fetched open(URI declared, long offset, String validator, Deadline deadline)
            throws FailedAttempt, InterruptedException {
        URI uri = declared;
        for (int redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
            HttpResponse<HttpBody> response = send(request(uri, redirects == 0, offset, validator), uri, deadline);
            boolean accepted = false;
            try {
                if (!isRedirect(response.statusCode())) {
                    Fetched fetched = HttpAnswer.read(response, offset, clock);
                    accepted = true;
                    return fetched;
                }
                uri = redirected(uri, response.headers());
            } finally {
                if (!accepted) {
                    response.body().close();
                }
            }
        }
        throw FailedAttempt.giveUp(
                FailureCause.of(Kind.REDIRECT), "the server redirects more than " + MAX_REDIRECTS + " times");
    }

    private static HttpRequest request(URI uri, boolean declared, long offset, String validator) throws FailedAttempt {
        try {
            HttpRequest.Builder request = (declared ? HttpRequests.authorized(uri) : HttpRequests.anonymous(uri))
                    .header("User-Agent", "homeostat")
                    .header("Accept-Encoding", "identity");
            if (offset > 0) {
                request.header("Range", "bytes=" + offset + "-").header("If-Range", validator);
            }
            return request.build();
        } catch (IllegalArgumentException e) {
            // Its message quotes the URL with its query.
            throw FailedAttempt.fatal(
                    FailureCause.of(Kind.URL), "this is not a URL that can be fetched; correct source.url");
        }
    }

    private HttpResponse<HttpBody> send(HttpRequest request, URI uri, Deadline deadline)
            throws FailedAttempt, InterruptedException {
        CompletableFuture<HttpResponse<HttpBody>> answer = client().sendAsync(request, headers -> new HttpBody());
        try {
            return answer.get(deadline.remaining(), TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            throw deadline.expired();
        } catch (ExecutionException e) {
            throw FailedAttempt.again(problem(uri, e.getCause()), e.getCause());
        } finally {
            // Closes the connection when nobody waits for the answer any more; does nothing once it is there.
            answer.cancel(true);
        }
    }

    private static String problem(URI uri, @Nullable Throwable cause) {
        String host = uri.getHost() + (uri.getPort() < 0 ? "" : ":" + uri.getPort());
        for (Throwable each = cause; each != null; each = each.getCause()) {
            if (each instanceof UnresolvedAddressException) {
                return "the host " + host + " can't be found";
            }
        }
        if (cause instanceof ConnectException) {
            return "no connection to " + host + (cause.getMessage() == null ? "" : ": " + cause.getMessage());
        }
        return cause instanceof IOException e ? brokenConnection(e) : "the request failed: " + cause;
    }

    /** Describes an exception of the client, without what it may quote of a URL. */
    static String brokenConnection(IOException e) {
        String message = e.getMessage() == null ? e.getClass().getSimpleName() : e.getMessage();
        return "the connection broke: " + Redaction.text(message);
    }

    private static boolean isRedirect(int status) {
        return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
    }

    static URI redirected(URI from, HttpHeaders headers) throws FailedAttempt {
        String location = headers.firstValue("Location").orElse("");
        URI to;
        try {
            to = from.resolve(new URI(location));
        } catch (URISyntaxException e) {
            throw FailedAttempt.giveUp(
                    FailureCause.of(Kind.REDIRECT), "the server redirects to something that is not a URL");
        }
        String scheme = to.getScheme() == null ? "" : to.getScheme().toLowerCase(Locale.ROOT);
        if (location.isEmpty() || to.getHost() == null || !(scheme.equals("http") || scheme.equals("https"))) {
            throw FailedAttempt.giveUp(
                    FailureCause.of(Kind.REDIRECT),
                    "the server redirects to '" + Redaction.url(to.toString()) + "', which is neither http nor https");
        }
        if (scheme.equals("http") && "https".equalsIgnoreCase(from.getScheme())) {
            throw FailedAttempt.giveUp(
                    FailureCause.of(Kind.REDIRECT),
                    "the server redirects from https to plain http (" + Redaction.url(to.toString())
                            + "), where anybody could exchange the archive; declare a URL that stays on https");
        }
        return to;
    }

    /** Created on first use, so that a machine that downloads nothing has no selector thread. */
    private synchronized HttpClient client() {
        if (client == null) {
            client = HttpClient.newBuilder()
                    .version(HttpClient.Version.HTTP_1_1)
                    .followRedirects(HttpClient.Redirect.NEVER)
                    .build();
        }
        return client;
    }

    @Override
    public synchronized void close() {
        if (client != null) {
            client.shutdownNow();
            client = null;
        }
    }

    /** Interprets a server's answer to a request for an archive (RFC 9110). */
    private static final class HttpAnswer {
        /** The longest pause that a server is granted; the caller comes back later anyway. */
        static final Duration LONGEST_RETRY_AFTER = Duration.ofSeconds(30);

        private static final Pattern CONTENT_RANGE =
                Pattern.compile("bytes +([0-9]{1,18})-([0-9]{1,18})/([0-9]{1,18}|\\*)");

        private HttpAnswer() {}

        static Fetched read(HttpResponse<HttpBody> response, long offset, InstantSource clock) throws FailedAttempt {
            HttpHeaders headers = response.headers();
            int status = response.statusCode();
            FailureCause cause = new FailureCause(Kind.HTTP_STATUS, status);
            return switch (status) {
                case 200 ->
                    new Fetched(
                            response.body(),
                            0,
                            headers.firstValueAsLong("Content-Length").orElse(-1),
                            validator(headers),
                            isHtml(headers));
                case 206 -> rest(response, offset);
                case 416 ->
                    throw offset > 0
                            ? FailedAttempt.againFromZero(
                                    cause, "the server has nothing after byte " + offset + " (416)")
                            : FailedAttempt.giveUp(cause, "the server answered 416 to a request for the whole archive");
                case 401, 403, 410 ->
                    throw FailedAttempt.fatal(
                            cause,
                            "the server refused with " + status
                                    + ": the URL is not signed, or its signature has expired or is not valid;"
                                    + " declare the workload again with a new URL");
                case 404 ->
                    throw FailedAttempt.giveUp(
                            cause, "the server has no such archive (404); is source.url right, and is it published?");
                case 408, 425, 429 ->
                    throw FailedAttempt.againAfter(
                            cause, retryAfter(headers, clock), "the server asks for patience (" + status + ")");
                default -> {
                    if (status >= 500) {
                        throw FailedAttempt.againAfter(
                                cause, retryAfter(headers, clock), "the server failed with " + status);
                    }
                    if (status >= 400) {
                        throw FailedAttempt.fatal(cause, "the server refused with " + status + "; correct source.url");
                    }
                    throw FailedAttempt.giveUp(cause, "the server answered with the unexpected status " + status);
                }
            };
        }

        private static Fetched rest(HttpResponse<HttpBody> response, long offset) throws FailedAttempt {
            String range = response.headers().firstValue("Content-Range").orElse("");
            Matcher matcher = CONTENT_RANGE.matcher(range);
            if (offset == 0 || !matcher.matches() || Long.parseLong(matcher.group(1)) != offset) {
                throw FailedAttempt.againFromZero(
                        FailureCause.of(Kind.CONTENT),
                        "asked for everything from byte " + offset + ", the server sent the range '" + range + "'");
            }
            long total = matcher.group(3).equals("*") ? -1 : Long.parseLong(matcher.group(3));
            return new Fetched(
                    response.body(), offset, total, validator(response.headers()), isHtml(response.headers()));
        }

        /**
         * The value for If-Range: a strong entity tag, or a modification date at least a second older than the answer, because a file may
         * change twice within the second that a date can express (RFC 9110, 8.8.2.2 and 13.1.5).
         */
        private static String validator(HttpHeaders headers) {
            Optional<String> tag = headers.firstValue("ETag");
            if (tag.isPresent() && tag.get().startsWith("\"")) {
                return tag.get();
            }
            Optional<Instant> changed = date(headers, "Last-Modified");
            Optional<Instant> now = date(headers, "Date");
            if (changed.isPresent()
                    && now.isPresent()
                    && changed.get().plusSeconds(1).compareTo(now.get()) <= 0) {
                return headers.firstValue("Last-Modified").orElse("");
            }
            return "";
        }

        private static boolean isHtml(HttpHeaders headers) {
            return headers.firstValue("Content-Type")
                    .orElse("")
                    .toLowerCase(Locale.ROOT)
                    .startsWith("text/html");
        }

        private static Duration retryAfter(HttpHeaders headers, InstantSource clock) {
            String text = headers.firstValue("Retry-After").orElse("");
            Duration asked = text.matches("[0-9]{1,9}")
                    ? Duration.ofSeconds(Long.parseLong(text))
                    : date(headers, "Retry-After")
                            .map(at -> Duration.between(clock.instant(), at))
                            .orElse(Duration.ZERO);
            if (asked.isNegative()) {
                return Duration.ZERO;
            }
            return asked.compareTo(LONGEST_RETRY_AFTER) < 0 ? asked : LONGEST_RETRY_AFTER;
        }

        private static Optional<Instant> date(HttpHeaders headers, String name) {
            return headers.firstValue(name).flatMap(text -> {
                try {
                    return Optional.of(ZonedDateTime.parse(text, DateTimeFormatter.RFC_1123_DATE_TIME)
                            .toInstant());
                } catch (DateTimeException e) {
                    // Nonsense in an optional header counts as no header.
                    return Optional.empty();
                }
            });
        }
    }

    /**
     * The body of an HTTP response for a reader with a deadline: the client's own timeout ends with the headers, and its streams wait
     * without one.
     */
    private static final class HttpBody implements BodySubscriber<HttpBody>, Body {
        /** How many parts (of up to 16 KiB) may be queued for the reader. */
        private static final int WINDOW = 64;

        private final LinkedBlockingQueue<Part> parts = new LinkedBlockingQueue<>();
        private final CompletableFuture<Flow.Subscription> subscription = new CompletableFuture<>();
        private List<ByteBuffer> current = List.of();
        private int next;
        private boolean reading;

        private sealed interface Part {
            record Bytes(List<ByteBuffer> buffers) implements Part {}

            record End() implements Part {}

            record Broken(Throwable cause) implements Part {}
        }

        @Override
        public CompletionStage<HttpBody> getBody() {
            return CompletableFuture.completedFuture(this);
        }

        @Override
        public void onSubscribe(Flow.Subscription incoming) {
            if (!subscription.complete(incoming)) {
                incoming.cancel();
            }
        }

        private void ask(int count) {
            CompletableFuture<Void> _ = subscription.thenAccept(running -> running.request(count));
        }

        @Override
        public void onNext(List<ByteBuffer> buffers) {
            parts.add(new Part.Bytes(buffers));
        }

        @Override
        public void onError(Throwable cause) {
            parts.add(new Part.Broken(cause));
        }

        @Override
        public void onComplete() {
            parts.add(new Part.End());
        }

        @Override
        public boolean fill(Chunk chunk, Deadline deadline) throws IOException, InterruptedException, FailedAttempt {
            // If the connection breaks before the client has handed over the response, it hands over only the failure,
            // and what has come is lost: nothing may come before there is a reader.
            if (!reading) {
                reading = true;
                ask(WINDOW);
            }
            while (true) {
                drain(chunk);
                Part part = chunk.length == 0
                        ? parts.poll(deadline.remaining(), TimeUnit.NANOSECONDS)
                        : chunk.room() > 0 ? parts.poll() : null;
                if (part == null) {
                    if (chunk.length > 0) {
                        return true;
                    }
                    throw deadline.expired();
                }
                switch (part) {
                    case Part.Bytes(List<ByteBuffer> buffers) -> {
                        current = buffers;
                        next = 0;
                        ask(1);
                    }
                    case Part.End() -> {
                        parts.add(part);
                        return chunk.length > 0;
                    }
                    case Part.Broken(Throwable cause) -> {
                        parts.add(part);
                        if (chunk.length > 0) {
                            return true;
                        }
                        throw cause instanceof IOException e ? e : new IOException("the connection broke", cause);
                    }
                }
            }
        }

        private void drain(Chunk chunk) {
            while (next < current.size() && chunk.room() > 0) {
                ByteBuffer buffer = current.get(next);
                int count = Math.min(buffer.remaining(), chunk.room());
                buffer.get(chunk.bytes, chunk.length, count);
                chunk.length += count;
                if (!buffer.hasRemaining()) {
                    next++;
                }
            }
        }

        /** Closes the connection unless the whole body has been read. */
        @Override
        public void close() {
            CompletableFuture<Void> _ = subscription.thenAccept(Flow.Subscription::cancel);
            parts.add(new Part.Broken(new EOFException("closed")));
        }
    }
}
