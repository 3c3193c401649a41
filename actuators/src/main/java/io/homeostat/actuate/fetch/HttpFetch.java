package io.homeostat.actuate.fetch;

import com.google.common.base.Throwables;
import com.google.common.util.concurrent.Uninterruptibles;
import io.homeostat.actuate.Chunk;
import io.homeostat.actuate.fetch.DownloadAttempt.Fetched;
import io.homeostat.actuate.fetch.DownloadAttempt.Fetched.Body;
import io.homeostat.actuate.fetch.Timing.Deadline;
import io.homeostat.desired.model.Redaction;
import io.homeostat.desired.platform.HttpRequests;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.desired.state.history.FailureCause.Kind;
import java.io.IOException;
import java.io.InputStream;
import java.net.ConnectException;
import java.net.HttpURLConnection;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.UnknownHostException;
import java.net.http.HttpHeaders;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/**
 * Requests an archive, or the rest of one, from an HTTP server. Follows redirects itself, so that none leads away from HTTP or from TLS.
 *
 * <p>With the JDK's blocking client: the other one, java.net.http, costs a quarter of a second of processor time at its first request.
 */
final class HttpFetch implements AutoCloseable {
    private static final int MAX_REDIRECTS = 5;
    private static final int MAX_PORT = 65535;

    /** Message of the JDK's client when a connection ends before the answer does; nothing else tells it from an invalid answer. */
    private static final String ENDED = "Premature EOF";

    private final InstantSource clock;
    private final Set<Thread> waiting = ConcurrentHashMap.newKeySet();

    HttpFetch(InstantSource clock) {
        this.clock = clock;
    }

    /** @param offset how many bytes we already have, of the version that the validator names */
    Fetched open(URI declared, long offset, String validator, Deadline deadline)
            throws FailedAttempt, InterruptedException {
        URI uri = declared;
        for (int redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
            Answer answer = send(request(uri, redirects == 0, offset, validator), declared, uri, deadline);
            boolean accepted = false;
            try {
                if (!isRedirect(answer.status())) {
                    Fetched fetched = answer.read(offset, clock);
                    accepted = true;
                    return fetched;
                }
                uri = redirected(uri, answer.headers());
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

    private static HttpURLConnection request(URI uri, boolean declared, long offset, String validator)
            throws FailedAttempt {
        try {
            URI target = HttpRequests.target(uri);
            if (!(target.toURL().openConnection() instanceof HttpURLConnection request)
                    || target.getPort() > MAX_PORT) {
                throw new IllegalArgumentException("no HTTP");
            }
            request.setInstanceFollowRedirects(false);
            request.setUseCaches(false);
            request.setRequestProperty("User-Agent", "homeostat");
            request.setRequestProperty("Accept", "*/*");
            request.setRequestProperty("Accept-Encoding", "identity");
            request.setRequestProperty("Connection", "close");
            if (declared) {
                HttpRequests.credentials(uri).ifPresent(user -> request.setRequestProperty("Authorization", user));
            }
            if (offset > 0) {
                request.setRequestProperty("Range", "bytes=" + offset + "-");
                request.setRequestProperty("If-Range", validator);
            }
            return request;
        } catch (IllegalArgumentException | IOException e) {
            // Its message quotes the URL with its query.
            throw declared
                    ? FailedAttempt.fatal(
                            FailureCause.of(Kind.URL), "this is not a URL that can be fetched; correct source.url")
                    : FailedAttempt.giveUp(
                            FailureCause.of(Kind.REDIRECT), "the server redirects to a URL that can't be fetched");
        }
    }

    private Answer send(HttpURLConnection request, URI declared, URI uri, Deadline deadline)
            throws FailedAttempt, InterruptedException {
        try {
            return new Blocking<>(() -> {
                        Optional<String> refused = HttpRequests.refusedRedirect(declared.getHost(), uri.getHost());
                        if (refused.isPresent()) {
                            throw FailedAttempt.giveUp(FailureCause.of(Kind.REDIRECT), refused.get());
                        }
                        int status = request.getResponseCode();
                        if (status < 0) {
                            throw FailedAttempt.invalidAnswer(": it is not HTTP", null);
                        }
                        Map<String, List<String>> fields = new HashMap<>(request.getHeaderFields());
                        // The status line.
                        fields.remove(null);
                        return new Answer(status, HttpHeaders.of(fields, (name, value) -> true), new HttpBody(request));
                    })
                    .within(deadline);
        } catch (IOException e) {
            String host = uri.getHost() + (uri.getPort() < 0 ? "" : ":" + uri.getPort());
            throw switch (e) {
                case UnknownHostException unknown ->
                    FailedAttempt.again("the host " + host + " can't be found", unknown);
                case ConnectException refused ->
                    FailedAttempt.again(
                            "no connection to " + host
                                    + (refused.getMessage() == null ? "" : ": " + refused.getMessage()),
                            refused);
                default -> broken(e);
            };
        }
    }

    /** An exception of the network, or of what parses the answer, whose words say nothing to who serves it. */
    static FailedAttempt broken(IOException e) {
        String message = e.getMessage() == null ? e.getClass().getSimpleName() : e.getMessage();
        if (message.equals(ENDED)) {
            return FailedAttempt.again("the connection broke: it ended before the answer did", e);
        }
        return e instanceof SocketException || e instanceof SocketTimeoutException || e instanceof SSLException
                // It may quote the URL.
                ? FailedAttempt.again("the connection broke: " + Redaction.text(message), e)
                : FailedAttempt.invalidAnswer("", e);
    }

    private static boolean isRedirect(int status) {
        return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
    }

    static URI redirected(URI from, HttpHeaders headers) throws FailedAttempt {
        String location = headers.firstValue("Location").orElse("").strip();
        if (location.isEmpty()) {
            throw FailedAttempt.giveUp(
                    FailureCause.of(Kind.REDIRECT),
                    "the server redirects without saying where: its answer has no Location");
        }
        URI to;
        try {
            to = from.resolve(new URI(location));
        } catch (URISyntaxException e) {
            throw FailedAttempt.giveUp(
                    FailureCause.of(Kind.REDIRECT), "the server redirects to something that is not a URL");
        }
        String scheme = to.getScheme() == null ? "" : to.getScheme().toLowerCase(Locale.ROOT);
        if (to.getHost() == null || !(scheme.equals("http") || scheme.equals("https"))) {
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

    /** Breaks off what waits for a server. */
    @Override
    public void close() {
        waiting.forEach(Thread::interrupt);
    }

    /**
     * Something that waits for a server, on a virtual thread of its own, which closes its socket when it is interrupted. Other threads
     * would wait on, and the client's own timeouts are for a single read.
     */
    private final class Blocking<T> {
        private final FutureTask<T> task;
        private final Thread thread;

        Blocking(Callable<T> work) {
            task = new FutureTask<>(work);
            thread = Thread.ofVirtual().name("http").unstarted(task);
            waiting.add(thread);
            thread.start();
        }

        /** What came of it; when that is not in time, it is broken off. */
        T within(Deadline deadline) throws IOException, FailedAttempt, InterruptedException {
            try {
                return task.get(deadline.remaining(), TimeUnit.NANOSECONDS);
            } catch (TimeoutException e) {
                throw deadline.expired();
            } catch (ExecutionException e) {
                Throwable cause = Objects.requireNonNull(e.getCause());
                Throwables.throwIfInstanceOf(cause, FailedAttempt.class);
                Throwables.throwIfInstanceOf(cause, IOException.class);
                throw FailedAttempt.invalidAnswer("", e);
            } finally {
                waiting.remove(thread);
                thread.interrupt();
            }
        }

        /** Waits until it is over, which is soon after {@link #within}, unless it looks up a host's address. */
        void join() {
            Uninterruptibles.joinUninterruptibly(thread);
        }
    }

    /** The beginning of a server's answer to a request for an archive (RFC 9110). */
    private record Answer(int status, HttpHeaders headers, HttpBody body) {
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
                        "asked for everything from byte " + offset + ", the server sent the range '" + range + "'");
            }
            long total = matcher.group(3).equals("*") ? -1 : Long.parseLong(matcher.group(3));
            return new Fetched(body, offset, total, validator(headers), isHtml(headers));
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

    private final class HttpBody implements Body {
        private final HttpURLConnection connection;
        private @Nullable InputStream content;

        HttpBody(HttpURLConnection connection) {
            this.connection = connection;
        }

        @Override
        public boolean fill(Chunk chunk, Deadline deadline) throws IOException, InterruptedException, FailedAttempt {
            Blocking<Boolean> reading = new Blocking<>(() -> read(chunk));
            try {
                return reading.within(deadline);
            } finally {
                // It has to let go of the chunk, which is used for other bytes next.
                reading.join();
            }
        }

        private boolean read(Chunk chunk) throws IOException {
            InputStream in = content == null ? connection.getInputStream() : content;
            content = in;
            do {
                int count = in.read(chunk.bytes, chunk.length, chunk.room());
                if (count < 0) {
                    return chunk.length > 0;
                }
                chunk.length += count;
            } while (chunk.room() > 0 && in.available() > 0);
            return true;
        }

        @Override
        public void close() {
            connection.disconnect();
        }
    }
}
