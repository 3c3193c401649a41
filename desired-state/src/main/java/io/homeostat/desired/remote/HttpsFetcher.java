package io.homeostat.desired.remote;

import com.google.common.hash.Hashing;
import com.google.common.net.HttpHeaders;
import com.google.protobuf.ByteString;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.model.Redaction;
import io.homeostat.desired.platform.HttpRequests;
import io.homeostat.desired.remote.HttpGet.Answer;
import java.io.IOException;
import java.net.ProtocolException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A set that a web server has. Its version is the ETag, or of a server that sends none the hash of what it sends. */
public final class HttpsFetcher implements SetFetcher {
    private static final int MAX_REDIRECTS = 5;
    private static final String HASH = "sha256:";
    private static final int OK = 200;
    private static final int NOT_MODIFIED = 304;

    private final URI url;
    private final String setting;
    private final @Nullable String tokenFile;
    private final AgentConfig.@Nullable Tls tls;
    private final LargeSetLock large;

    /** @param large shared by all sources */
    public HttpsFetcher(AgentConfig.Https config, LargeSetLock large) {
        this(URI.create(config.url()), config.tokenFile(), config.tls(), "sources.https", large);
    }

    /** @param setting in agent.yaml that names it, for failures */
    HttpsFetcher(
            URI url, @Nullable String tokenFile, AgentConfig.@Nullable Tls tls, String setting, LargeSetLock large) {
        this.url = url;
        this.setting = setting;
        this.tokenFile = tokenFile;
        this.tls = tls;
        this.large = large;
    }

    @Override
    public String name() {
        return Redaction.url(url.toString());
    }

    @Override
    public Fetched fetch(Optional<String> known) throws FetchFailure, InterruptedException {
        try (HttpClient client = HttpClients.open(tls, setting + ".tls")) {
            URI at = url;
            for (int redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
                Answer answer = HttpGet.send(client, request(at, known), large);
                if (!HttpRequests.isRedirect(answer.status())) {
                    return fetched(answer, known);
                }
                at = redirected(at, answer);
                Optional<String> refused = HttpRequests.refusedRedirect(url.getHost(), at.getHost());
                if (refused.isPresent()) {
                    throw new FetchFailure(refused.get());
                }
            }
            throw new FetchFailure("the server redirects more than " + MAX_REDIRECTS + " times");
        } catch (IOException e) {
            throw new FetchFailure(String.valueOf(e.getMessage()), e);
        }
    }

    private HttpRequest request(URI at, Optional<String> known) throws FetchFailure {
        try {
            HttpRequest.Builder request = HttpRequests.anonymous(at)
                    .header(HttpHeaders.USER_AGENT, "homeostat")
                    .header(HttpHeaders.ACCEPT_ENCODING, "gzip");
            known.filter(version -> !version.startsWith(HASH))
                    .ifPresent(version -> request.header(HttpHeaders.IF_NONE_MATCH, version));
            // Nobody else gets to know a secret.
            if (sameServer(url, at)) {
                authorization().ifPresent(value -> request.header(HttpHeaders.AUTHORIZATION, value));
            }
            return request.build();
        } catch (IllegalArgumentException e) {
            throw new FetchFailure(
                    "nothing can be sent to this URL or with this token; correct " + setting + ".url and tokenFile");
        }
    }

    private Optional<String> authorization() throws FetchFailure {
        return tokenFile == null
                ? HttpRequests.credentials(url)
                : Optional.of("Bearer " + secret(tokenFile, setting + ".tokenFile"));
    }

    /** The first line of a file with a token. */
    static String secret(String file, String setting) throws FetchFailure {
        try {
            String text = Files.readString(Path.of(file)).strip();
            if (text.isEmpty()) {
                throw new FetchFailure(file + " (" + setting + ") is empty; write the secret into it");
            }
            return text;
        } catch (IOException e) {
            throw new FetchFailure(
                    "could not read " + file + " (" + setting + "); it has to be there and readable for the agent", e);
        }
    }

    private Fetched fetched(Answer answer, Optional<String> known) throws FetchFailure {
        return switch (answer.status()) {
            case NOT_MODIFIED -> new Fetched.NotModified();
            case OK -> {
                ByteString content = HttpGet.body(answer);
                String version = HttpRequests.validator(answer.headers(), HttpHeaders.ETAG)
                        .orElseGet(() -> HASH
                                + Hashing.sha256()
                                        .hashBytes(content.asReadOnlyByteBuffer())
                                        .toString());
                yield known.equals(Optional.of(version))
                        ? new Fetched.NotModified()
                        : new Fetched.File(version, content);
            }
            case 401, 403 ->
                throw new FetchFailure("the server answers " + answer.status()
                        + ": it does not let this machine read it; look at " + setting + ".tokenFile and tls");
            case 404, 410 ->
                throw new FetchFailure("the server answers " + answer.status()
                        + ": there is no such file; publish a set there, or correct " + setting + ".url");
            default -> throw new FetchFailure("the server answers " + answer.status() + answer.excerpt());
        };
    }

    private static URI redirected(URI from, Answer answer) throws FetchFailure, ProtocolException {
        URI to = HttpRequests.redirected(from, answer.headers());
        boolean secure = "https".equalsIgnoreCase(to.getScheme())
                || ("http".equalsIgnoreCase(from.getScheme())
                        && "http".equalsIgnoreCase(to.getScheme())
                        && HttpGet.isLoopback(String.valueOf(to.getHost())));
        if (!secure) {
            throw new FetchFailure("the server redirects to '" + HttpRequests.quoted(answer.request(), to)
                    + "', which is not https; name a URL that stays on https");
        }
        return to;
    }

    private static boolean sameServer(URI one, URI other) {
        return one.getScheme().equalsIgnoreCase(other.getScheme())
                && one.getHost().equalsIgnoreCase(other.getHost())
                && one.getPort() == other.getPort();
    }

    @Override
    public void close() {
        // Each request has a client of its own.
    }
}
