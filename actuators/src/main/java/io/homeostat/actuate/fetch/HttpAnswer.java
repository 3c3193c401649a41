package io.homeostat.actuate.fetch;

import java.net.http.HttpHeaders;
import java.net.http.HttpResponse;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** What a server's answer to a request for an archive means (RFC 9110). */
final class HttpAnswer {
    /** Nobody is waited for any longer; the caller comes back later by itself. */
    static final Duration LONGEST_RETRY_AFTER = Duration.ofSeconds(30);

    private static final Pattern CONTENT_RANGE =
            Pattern.compile("bytes +([0-9]{1,18})-([0-9]{1,18})/([0-9]{1,18}|\\*)");

    private HttpAnswer() {}

    static Fetched read(HttpResponse<HttpBody> response, long offset, InstantSource clock) throws FailedAttempt {
        HttpHeaders headers = response.headers();
        int status = response.statusCode();
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
                        ? FailedAttempt.againFromZero("the server has nothing after byte " + offset + " (416)")
                        : FailedAttempt.giveUp("the server answered 416 to a request for the whole archive");
            case 401, 403, 410 ->
                throw FailedAttempt.fatal("the server refused with " + status
                        + ": the signed URL has expired or is not valid; declare the workload again with a new URL");
            case 404 ->
                throw FailedAttempt.giveUp(
                        "the server has no such archive (404); is source.url right, and is it published?");
            case 408, 425, 429 ->
                throw FailedAttempt.againAfter(
                        retryAfter(headers, clock), "the server asks for patience (" + status + ")");
            default -> {
                if (status >= 500) {
                    throw FailedAttempt.againAfter(retryAfter(headers, clock), "the server failed with " + status);
                }
                if (status >= 400) {
                    throw FailedAttempt.fatal("the server refused with " + status + "; correct source.url");
                }
                throw FailedAttempt.giveUp("the server answered with the unexpected status " + status);
            }
        };
    }

    private static Fetched rest(HttpResponse<HttpBody> response, long offset) throws FailedAttempt {
        String range = response.headers().firstValue("Content-Range").orElse("");
        Matcher matcher = CONTENT_RANGE.matcher(range);
        if (offset == 0 || !matcher.matches() || Long.parseLong(matcher.group(1)) != offset) {
            throw FailedAttempt.againFromZero(
                    "asked for everything from byte " + offset + ", the server sent the range '" + range + "'");
        }
        long total = matcher.group(3).equals("*") ? -1 : Long.parseLong(matcher.group(3));
        return new Fetched(response.body(), offset, total, validator(response.headers()), isHtml(response.headers()));
    }

    /**
     * What may stand in If-Range: a strong entity tag, or a date of last change that is at least a second older than the answer,
     * because a file may change twice within the second that a date can tell (RFC 9110, 8.8.2.2 and 13.1.5).
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
                // A server's nonsense in a header that only helps: the same as without the header.
                return Optional.empty();
            }
        });
    }
}
