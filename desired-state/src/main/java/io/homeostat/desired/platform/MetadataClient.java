package io.homeostat.desired.platform;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.common.base.Splitter;
import com.google.common.net.UrlEscapers;
import io.homeostat.desired.platform.MetadataServer.Answer.Absent;
import io.homeostat.desired.platform.MetadataServer.Answer.Present;
import io.homeostat.desired.platform.MetadataServer.Answer.Unreachable;
import java.io.IOException;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpConnectTimeoutException;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandler;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Asks a metadata server over HTTP, without caching. An answer counts only with the header {@code Metadata-Flavor: Google}: other clouds
 * have something else at the same address, and a network may have anything there.
 */
public final class MetadataClient implements MetadataServer, AutoCloseable {
    /** The server's address on every instance; not a name, which a name server could redirect. */
    public static final String DEFAULT_HOST = "169.254.169.254";

    /** The variable that overrides the address, as with other clients. */
    public static final String HOST_VARIABLE = "GCE_METADATA_HOST";

    private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(1);
    /** Longer than the longest value, which has 256 KiB. */
    private static final long MAX_BYTES = 512 * 1024;

    private static final String FLAVOR = "Metadata-Flavor";
    private static final String GOOGLE = "Google";

    private final String host;
    private final Duration timeout;
    private @Nullable HttpClient client;

    /** @param host HOST or HOST:PORT */
    public MetadataClient(String host) {
        this(host, Duration.ofSeconds(3));
    }

    /** @param timeout of one request, including the body of its response */
    MetadataClient(String host, Duration timeout) {
        this.host = host;
        this.timeout = timeout;
    }

    /** The server's HOST or HOST:PORT: what {@link #HOST_VARIABLE} says, else the default. */
    public static String host(Map<String, String> environment) {
        String set = environment.getOrDefault(HOST_VARIABLE, "").strip();
        return set.isEmpty() ? DEFAULT_HOST : set;
    }

    @Override
    public Answer get(String path) throws InterruptedException {
        if (Splitter.on('/').splitToStream(path).anyMatch(each -> each.equals(".") || each.equals(".."))) {
            return new Absent();
        }
        String encoded = Splitter.on('/')
                .splitToStream(path)
                .map(UrlEscapers.urlPathSegmentEscaper()::escape)
                .collect(Collectors.joining("/"));
        return ask(encoded, path);
    }

    /** A token with which the instance proves its identity to an audience. */
    public Answer identityToken(String audience) throws InterruptedException {
        String path = "instance/service-accounts/default/identity";
        return ask(path + "?audience=" + UrlEscapers.urlFormParameterEscaper().escape(audience) + "&format=full", path);
    }

    private Answer ask(String encoded, String shown) throws InterruptedException {
        HttpRequest request;
        try {
            request = HttpRequest.newBuilder(URI.create("http://" + host + "/computeMetadata/v1/" + encoded))
                    .header(FLAVOR, GOOGLE)
                    .header("User-Agent", "homeostat")
                    .build();
        } catch (IllegalArgumentException e) {
            return unreachable(shown, HOST_VARIABLE + " has to be HOST or HOST:PORT");
        }
        BodyHandler<String> body = BodyHandlers.limiting(BodyHandlers.ofString(UTF_8), MAX_BYTES);
        CompletableFuture<HttpResponse<String>> answer = client().sendAsync(request, body);
        try {
            return read(answer.get(timeout.toNanos(), TimeUnit.NANOSECONDS), shown);
        } catch (TimeoutException e) {
            return unreachable(shown, "no answer within " + timeout.toMillis() + " ms");
        } catch (ExecutionException e) {
            if (!(e.getCause() instanceof ConnectException)) {
                // The JDK's client leaves a connection open on which something else than HTTP comes.
                close();
            }
            return unreachable(shown, problem(e.getCause()));
        } finally {
            // Closes the connection if the answer is no longer awaited.
            answer.cancel(true);
        }
    }

    private Answer read(HttpResponse<String> response, String shown) {
        if (!response.headers().firstValue(FLAVOR).orElse("").equals(GOOGLE)) {
            return unreachable(
                    shown,
                    "the answer lacks the header " + FLAVOR + ": " + GOOGLE
                            + ", so it does not come from a metadata server");
        }
        return switch (response.statusCode()) {
            case 200 -> new Present(response.body());
            // A directory, which redirects to its listing, is no value.
            case 301, 404 -> new Absent();
            default -> unreachable(shown, "the server answered with status " + response.statusCode());
        };
    }

    private static String problem(@Nullable Throwable cause) {
        if (cause instanceof HttpConnectTimeoutException) {
            return "nobody took the connection within " + CONNECT_TIMEOUT.toMillis() + " ms";
        }
        if (cause instanceof ConnectException) {
            return "no connection" + (cause.getMessage() == null ? "" : ": " + cause.getMessage());
        }
        if (!(cause instanceof IOException)) {
            // The JDK's client throws anything at what it does not expect.
            return "the answer is not valid HTTP";
        }
        return cause.getMessage() == null ? String.valueOf(cause) : cause.getMessage();
    }

    private Unreachable unreachable(String shown, String why) {
        return new Unreachable("could not ask the metadata server " + host + " for " + shown + ": " + why);
    }

    /** Created at the first use, so that a machine that asks nothing has no selector thread. */
    private synchronized HttpClient client() {
        if (client == null) {
            client = HttpRequests.client()
                    .proxy(HttpClient.Builder.NO_PROXY)
                    .connectTimeout(CONNECT_TIMEOUT)
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
