package io.homeostat.actuate.fetch;

import com.google.common.base.Throwables;
import io.homeostat.actuate.Chunk;
import io.homeostat.actuate.fetch.DownloadAttempt.Fetched;
import io.homeostat.actuate.fetch.DownloadAttempt.Fetched.Body;
import io.homeostat.actuate.fetch.Timing.Deadline;
import io.homeostat.desired.model.Redaction;
import io.homeostat.desired.platform.ChunkSizes;
import io.homeostat.desired.platform.HttpRequests;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.desired.state.history.FailureCause.Kind;
import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ConnectException;
import java.net.ProtocolException;
import java.net.URI;
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
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Flow;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.UnaryOperator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.SSLException;

/**
 * Requests an archive, or the rest of one, from an HTTP server. Follows redirects itself, so that none leads away from HTTP or from TLS.
 *
 * <p>With java.net.http, although that costs 0.2 seconds of processor time at its first request: HttpURLConnection keeps all trailers of an
 * answer in memory, and neither a deadline nor an interrupt ends its reading as long as the server sends something.
 */
final class HttpFetch implements AutoCloseable {
    private static final int MAX_REDIRECTS = 5;
    private static final int MAX_PORT = 65535;

    private final InstantSource clock;
    private final Set<HttpClient> clients = ConcurrentHashMap.newKeySet();

    HttpFetch(InstantSource clock) {
        this.clock = clock;
    }

    /** @param offset how many bytes we already have, of the version that the validator names */
    Fetched open(URI declared, long offset, String validator, Deadline deadline)
            throws FailedAttempt, InterruptedException {
        URI uri = declared;
        for (int redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
            HttpRequest request = request(uri, redirects == 0, offset, validator);
            Answer answer = send(request, declared, deadline);
            boolean accepted = false;
            try {
                if (!HttpRequests.isRedirect(answer.status())) {
                    Fetched fetched = answer.read(offset, clock);
                    accepted = true;
                    return fetched;
                }
                uri = redirected(request, answer.headers());
            } catch (RuntimeException e) {
                throw FailedAttempt.invalidAnswer("", e);
            } finally {
                if (!accepted) {
                    answer.body().close();
                }
            }
        }
        throw FailedAttempt.giveUp(
                FailureCause.of(Kind.REDIRECT), "the server redirects more than " + MAX_REDIRECTS + " times");
    }

    private static HttpRequest request(URI uri, boolean declared, long offset, String validator) throws FailedAttempt {
        try {
            if (uri.getPort() > MAX_PORT) {
                throw new IllegalArgumentException("no HTTP");
            }
            HttpRequest.Builder request = (declared ? HttpRequests.authorized(uri) : HttpRequests.anonymous(uri))
                    .header("User-Agent", "homeostat")
                    .header("Accept", "*/*")
                    .header("Accept-Encoding", "identity");
            if (offset > 0) {
                request.header("Range", "bytes=" + offset + "-").header("If-Range", validator);
            }
            return request.build();
        } catch (IllegalArgumentException e) {
            // Its message quotes the URL with its query.
            throw declared
                    ? FailedAttempt.fatal(
                            FailureCause.of(Kind.URL), "this is not a URL that can be fetched; correct source.url")
                    : FailedAttempt.giveUp(
                            FailureCause.of(Kind.REDIRECT), "the server redirects to a URL that can't be fetched");
        }
    }

    private Answer send(HttpRequest request, URI declared, Deadline deadline)
            throws FailedAttempt, InterruptedException {
        HttpBody body = body(request);
        boolean answered = false;
        try {
            // Looks up the host's address, which may take long.
            Optional<String> refused = within(
                    deadline,
                    CompletableFuture.supplyAsync(
                            () -> HttpRequests.refusedRedirect(
                                    declared.getHost(), request.uri().getHost()),
                            Thread::startVirtualThread));
            if (refused.isPresent()) {
                throw FailedAttempt.giveUp(FailureCause.of(Kind.REDIRECT), refused.get());
            }
            HttpResponse<HttpBody> answer = within(deadline, body.client.sendAsync(request, _ -> body));
            answered = true;
            return new Answer(request, answer.statusCode(), answer.headers(), body);
        } catch (ExecutionException e) {
            throw e.getCause() instanceof IOException cause
                    ? unanswered(request, cause)
                    // The client throws anything at what it does not expect.
                    : FailedAttempt.invalidAnswer("", e);
        } finally {
            if (!answered) {
                body.close();
            }
        }
    }

    private HttpBody body(HttpRequest request) throws FailedAttempt {
        try {
            return new HttpBody();
        } catch (UncheckedIOException e) {
            // No descriptor is left, mostly.
            throw unanswered(request, Objects.requireNonNull(e.getCause()));
        }
    }

    private static <T> T within(Deadline deadline, CompletableFuture<T> result)
            throws FailedAttempt, ExecutionException, InterruptedException {
        try {
            return result.get(deadline.remaining(), TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            throw deadline.expired();
        } finally {
            result.cancel(true);
        }
    }

    private static FailedAttempt unanswered(HttpRequest request, IOException e) {
        URI uri = request.uri();
        String host = uri.getHost() + (uri.getPort() < 0 ? "" : ":" + uri.getPort());
        if (Throwables.getCausalChain(e).stream().anyMatch(UnresolvedAddressException.class::isInstance)) {
            return FailedAttempt.again("the host " + host + " can't be found", e);
        }
        return e instanceof ConnectException
                ? FailedAttempt.again(
                        "no connection to " + host + (e.getMessage() == null ? "" : ": " + e.getMessage()), e)
                : broken(e, text -> HttpRequests.quoted(request, text));
    }

    /** Returns the failure of an attempt whose connection has broken while a body was read. */
    static FailedAttempt broken(IOException e) {
        return broken(e, Redaction::excerpt);
    }

    /**
     * Returns the failure of an attempt because of the network, or of what parses the answer, whose words say nothing to who serves it.
     *
     * @param shown returns as much of a message as may be shown: it may quote the URL, or the server
     */
    private static FailedAttempt broken(IOException e, UnaryOperator<String> shown) {
        if (e instanceof ProtocolException) {
            return FailedAttempt.invalidAnswer("", e);
        }
        // The client wraps what the network says.
        Throwable why = e.getClass() == IOException.class && e.getCause() != null ? e.getCause() : e;
        String message = why instanceof EOFException
                ? "it ended before the answer did"
                : why.getMessage() == null ? why.getClass().getSimpleName() : why.getMessage();
        return FailedAttempt.again("the connection broke: " + shown.apply(message), why);
    }

    static URI redirected(HttpRequest from, HttpHeaders headers) throws FailedAttempt {
        URI to;
        try {
            to = HttpRequests.redirected(from.uri(), headers);
        } catch (ProtocolException e) {
            throw FailedAttempt.giveUp(FailureCause.of(Kind.REDIRECT), String.valueOf(e.getMessage()));
        }
        String scheme = to.getScheme() == null ? "" : to.getScheme().toLowerCase(Locale.ROOT);
        if (!(scheme.equals("http") || scheme.equals("https"))) {
            throw FailedAttempt.giveUp(
                    FailureCause.of(Kind.REDIRECT),
                    "the server redirects to '" + HttpRequests.quoted(from, to) + "', which is neither http nor https");
        }
        if (scheme.equals("http") && "https".equalsIgnoreCase(from.uri().getScheme())) {
            throw FailedAttempt.giveUp(
                    FailureCause.of(Kind.REDIRECT),
                    "the server redirects from https to plain http (" + HttpRequests.quoted(from, to)
                            + "), where anybody could exchange the archive; declare a URL that stays on https");
        }
        return to;
    }

    /** Breaks off what waits for a server. */
    @Override
    public void close() {
        clients.forEach(HttpClient::shutdownNow);
    }

    /** The beginning of a server's answer to a request for an archive (RFC 9110). */
    private record Answer(HttpRequest request, int status, HttpHeaders headers, HttpBody body) {
        /** The longest pause that a server is granted; the caller comes back later anyway. */
        static final Duration LONGEST_RETRY_AFTER = Duration.ofSeconds(30);

        private static final Pattern CONTENT_RANGE =
                Pattern.compile("bytes +([0-9]{1,18})-([0-9]{1,18})/([0-9]{1,18}|\\*)");

        Fetched read(long offset, InstantSource clock) throws FailedAttempt {
            FailureCause cause = new FailureCause(Kind.HTTP_STATUS, status);
            return switch (status) {
                case 200 -> new Fetched(body, 0, length(), validator(headers), isHtml(headers));
                case 206 -> rest(offset);
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
                    if (status >= 400 && offset > 0) {
                        // Maybe it takes what the part on disk has it sent for too long, or for no condition.
                        throw FailedAttempt.againFromZero(
                                cause, "the server refused a request for the rest with " + status);
                    }
                    if (status >= 400) {
                        throw FailedAttempt.fatal(cause, "the server refused with " + status + "; correct source.url");
                    }
                    throw FailedAttempt.giveUp(cause, "the server answered with the unexpected status " + status);
                }
            };
        }

        private long length() throws FailedAttempt {
            String length = headers.firstValue("Content-Length").orElse("-1");
            if (!length.matches("-1|[0-9]{1,18}")) {
                throw FailedAttempt.invalidAnswer(": its Content-Length is not a number of bytes", null);
            }
            return Long.parseLong(length);
        }

        private Fetched rest(long offset) throws FailedAttempt {
            String range = headers.firstValue("Content-Range").orElse("");
            Matcher matcher = CONTENT_RANGE.matcher(range);
            if (offset == 0 || !matcher.matches() || Long.parseLong(matcher.group(1)) != offset) {
                throw FailedAttempt.againFromZero(
                        FailureCause.of(Kind.CONTENT),
                        "asked for everything from byte " + offset + ", the server sent the range '"
                                + HttpRequests.quoted(request, range) + "'");
            }
            long total = matcher.group(3).equals("*") ? -1 : Long.parseLong(matcher.group(3));
            return new Fetched(body, offset, total, validator(headers), isHtml(headers));
        }

        /**
         * The value for If-Range: a strong entity tag, or a modification date at least a second older than the answer, because a file may
         * change twice within the second that a date can express (RFC 9110, 8.8.2.2 and 13.1.5).
         */
        private static String validator(HttpHeaders headers) {
            Optional<String> tag = HttpRequests.validator(headers, "ETag");
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
     * The body of an answer for a reader with a deadline. The client's own streams wait without one, and lose what has come when the
     * connection breaks.
     */
    private final class HttpBody implements BodySubscriber<HttpBody>, Body {
        /** The number of parts, of up to 16 KiB each, that may be queued for the reader. */
        private static final int WINDOW = 16;

        /** The number of buffers that a part may have; the client makes one of each chunk. */
        private static final int FEW = 4;

        /** A client for this answer alone: nothing but its shutdown closes a connection with an invalid answer. */
        final HttpClient client = HttpRequests.client().build();

        private final LinkedBlockingQueue<Part> parts = new LinkedBlockingQueue<>();
        private final CompletableFuture<Flow.Subscription> subscription = new CompletableFuture<>();
        private Iterator<ByteBuffer> rest = Collections.emptyIterator();
        private ByteBuffer current = ByteBuffer.allocate(0);
        private final ChunkSizes sizes = new ChunkSizes();
        private boolean reading;

        HttpBody() {
            clients.add(client);
        }

        private sealed interface Part {
            /** @param chunks how many it came in, at most */
            record Bytes(List<ByteBuffer> buffers, int chunks) implements Part {}

            record End() implements Part {}

            record Broken(IOException cause) implements Part {}
        }

        @Override
        public CompletionStage<HttpBody> getBody() {
            return CompletableFuture.completedFuture(this);
        }

        @Override
        public void onSubscribe(Flow.Subscription incoming) {
            subscription.complete(incoming);
        }

        private void ask(int count) {
            CompletableFuture<Void> _ = subscription.thenAccept(running -> running.request(count));
        }

        @Override
        public void onNext(List<ByteBuffer> buffers) {
            parts.add(new Part.Bytes(buffers.size() > FEW ? List.of(together(buffers)) : buffers, buffers.size()));
        }

        /** Copies many small buffers into one: a buffer of one byte takes a hundred times its content. */
        private static ByteBuffer together(List<ByteBuffer> buffers) {
            ByteBuffer all = ByteBuffer.allocate(
                    buffers.stream().mapToInt(ByteBuffer::remaining).sum());
            buffers.forEach(all::put);
            return all.flip();
        }

        @Override
        public void onError(Throwable cause) {
            // What the network says comes wrapped. The rest is what the client thinks of the answer, maybe an Error.
            if (cause instanceof IOException network && (cause.getCause() != null || cause instanceof SSLException)) {
                parts.add(new Part.Broken(network));
            } else {
                IOException invalid = new ProtocolException("the answer is not valid HTTP");
                invalid.initCause(cause);
                parts.add(new Part.Broken(invalid));
            }
        }

        @Override
        public void onComplete() {
            parts.add(new Part.End());
        }

        @Override
        public boolean fill(Chunk chunk, Deadline deadline) throws IOException, InterruptedException, FailedAttempt {
            // If the connection breaks before the client has handed over the answer, it hands over only the failure,
            // and what has come is lost: nothing may come before there is a reader.
            if (!reading) {
                reading = true;
                ask(WINDOW);
            }
            // Also when there is always something to take.
            long left = deadline.remaining();
            if (Thread.interrupted()) {
                throw new InterruptedException();
            }
            while (true) {
                drain(chunk);
                if (chunk.room() == 0) {
                    return true;
                }
                Part part = chunk.length > 0 ? parts.poll() : parts.poll(left, TimeUnit.NANOSECONDS);
                switch (part) {
                    case null -> {
                        if (chunk.length > 0) {
                            return true;
                        }
                        throw deadline.expired();
                    }
                    case Part.Bytes(List<ByteBuffer> buffers, int more) -> {
                        try {
                            sizes.add(
                                    more,
                                    buffers.stream()
                                            .mapToLong(ByteBuffer::remaining)
                                            .sum());
                        } catch (ProtocolException e) {
                            throw FailedAttempt.invalidAnswer(": " + e.getMessage(), null);
                        }
                        rest = buffers.iterator();
                        ask(1);
                    }
                    case Part.End() -> {
                        parts.add(part);
                        return chunk.length > 0;
                    }
                    case Part.Broken(IOException cause) -> {
                        parts.add(part);
                        if (chunk.length > 0) {
                            return true;
                        }
                        throw cause;
                    }
                }
            }
        }

        private void drain(Chunk chunk) {
            while (chunk.room() > 0 && (current.hasRemaining() || rest.hasNext())) {
                if (!current.hasRemaining()) {
                    current = rest.next();
                }
                int count = Math.min(current.remaining(), chunk.room());
                current.get(chunk.bytes, chunk.length, count);
                chunk.length += count;
            }
        }

        @Override
        public void close() {
            clients.remove(client);
            client.shutdownNow();
        }
    }
}
