package io.homeostat.actuate.fetch;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.homeostat.desired.model.Redaction;
import java.io.IOException;
import java.net.ConnectException;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.http.HttpClient;
import java.net.http.HttpHeaders;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.channels.UnresolvedAddressException;
import java.time.InstantSource;
import java.util.Base64;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/** Asks an HTTP server for an archive or for the rest of one; follows redirects itself, so that none leads out of HTTP or out of TLS. */
final class HttpFetch implements AutoCloseable {
    private static final int MAX_REDIRECTS = 5;

    private final InstantSource clock;
    private @Nullable HttpClient client;

    HttpFetch(InstantSource clock) {
        this.clock = clock;
    }

    /**
     * @param offset how many bytes are there already; the server is asked for the others
     * @param validator which version they are of
     */
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
        throw FailedAttempt.giveUp("the server redirects more than " + MAX_REDIRECTS + " times");
    }

    private static HttpRequest request(URI uri, boolean declared, long offset, String validator) throws FailedAttempt {
        try {
            HttpRequest.Builder request = HttpRequest.newBuilder(withoutUserInfo(uri))
                    .header("User-Agent", "homeostat")
                    .header("Accept-Encoding", "identity");
            if (declared && uri.getUserInfo() != null) {
                String basic =
                        Base64.getEncoder().encodeToString(uri.getUserInfo().getBytes(UTF_8));
                request.header("Authorization", "Basic " + basic);
            }
            if (offset > 0) {
                request.header("Range", "bytes=" + offset + "-").header("If-Range", validator);
            }
            return request.build();
        } catch (IllegalArgumentException | URISyntaxException e) {
            // Its message quotes the URL with its query.
            throw FailedAttempt.fatal("this is not a URL that can be fetched; correct source.url");
        }
    }

    /** User information goes into a header; whatever quotes the request's URL then can't quote it. The fragment is not sent. */
    private static URI withoutUserInfo(URI uri) throws URISyntaxException {
        String authority = uri.getRawAuthority();
        if (authority == null) {
            throw new URISyntaxException("", "no host");
        }
        String query = uri.getRawQuery() == null ? "" : "?" + uri.getRawQuery();
        return new URI(uri.getScheme() + "://" + authority.substring(authority.lastIndexOf('@') + 1) + uri.getRawPath()
                + query);
    }

    private HttpResponse<HttpBody> send(HttpRequest request, URI uri, Deadline deadline)
            throws FailedAttempt, InterruptedException {
        CompletableFuture<HttpResponse<HttpBody>> answer = client().sendAsync(request, headers -> new HttpBody());
        try {
            return answer.get(deadline.remaining(), TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            throw deadline.expired();
        } catch (ExecutionException e) {
            throw FailedAttempt.again(problem(uri, e.getCause()));
        } finally {
            // Ends the connection when nobody waits for the answer any more; nothing once it is there.
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

    /** What an exception of the client says, without what it may quote of a URL. */
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
            throw FailedAttempt.giveUp("the server redirects to something that is not a URL");
        }
        String scheme = to.getScheme() == null ? "" : to.getScheme().toLowerCase(Locale.ROOT);
        if (location.isEmpty() || to.getHost() == null || !(scheme.equals("http") || scheme.equals("https"))) {
            throw FailedAttempt.giveUp(
                    "the server redirects to '" + Redaction.url(to.toString()) + "', which is neither http nor https");
        }
        if (scheme.equals("http") && "https".equalsIgnoreCase(from.getScheme())) {
            throw FailedAttempt.giveUp("the server redirects from https to plain http (" + Redaction.url(to.toString())
                    + "), where anybody could exchange the archive; declare a URL that stays on https");
        }
        return to;
    }

    /** Made at the first use: a machine that downloads nothing has no selector thread. */
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
}
