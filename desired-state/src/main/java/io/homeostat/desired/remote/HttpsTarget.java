package io.homeostat.desired.remote;

import com.google.common.net.HttpHeaders;
import io.homeostat.desired.fleet.SetFile;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.model.Redaction;
import io.homeostat.desired.platform.HttpRequests;
import io.homeostat.desired.remote.HttpGet.Answer;
import io.homeostat.desired.remote.SetFetcher.Fetched;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A set on a web server that takes PUT, under the condition that nobody else has put one there. */
public final class HttpsTarget implements SetTarget {
    private static final String SETTING = "sources.https";
    private static final int PRECONDITION_FAILED = 412;

    private final URI url;
    private final AgentConfig.Https config;
    private final String access;
    private @Nullable String tag;

    public HttpsTarget(AgentConfig.Https config) {
        this(config, "look at " + SETTING + ".tokenFile and tls");
    }

    /** @param access what to do when the server does not let us in, for people */
    public HttpsTarget(AgentConfig.Https config, String access) {
        this.access = access;
        this.url = URI.create(config.url());
        this.config = config;
    }

    @Override
    public String name() {
        return Redaction.url(config.url());
    }

    @Override
    public Optional<Fetched> read() throws FetchFailure, InterruptedException {
        Answer answer = send(request().GET().build());
        tag = null;
        return switch (answer.status()) {
            case 200 -> {
                tag = HttpRequests.validator(answer.headers(), HttpHeaders.ETAG).orElse(null);
                if (tag == null) {
                    throw new FetchFailure("the server sends no ETag of at most " + HttpRequests.LONGEST_VALIDATOR
                            + " characters, so nobody could tell whether somebody else has published"
                            + " since; have it send one, or publish to a file in its directory");
                }
                yield Optional.of(new Fetched.File(tag, HttpGet.body(answer)));
            }
            case 404, 410 -> Optional.empty();
            default -> throw refused("read", answer);
        };
    }

    @Override
    public boolean write(SetFile set) throws FetchFailure, InterruptedException {
        HttpRequest.Builder request = request()
                .header(HttpHeaders.CONTENT_TYPE, "application/json")
                .PUT(BodyPublishers.ofByteArray(set.bytes()));
        Answer answer = send((tag == null
                        ? request.header(HttpHeaders.IF_NONE_MATCH, "*")
                        : request.header(HttpHeaders.IF_MATCH, tag))
                .build());
        return switch (answer.status()) {
            case 200, 201, 202, 204 -> true;
            case PRECONDITION_FAILED -> false;
            default -> throw refused("write", answer);
        };
    }

    private FetchFailure refused(String verb, Answer answer) {
        return new FetchFailure(
                switch (answer.status()) {
                    case 401, 403 ->
                        "the server answers " + answer.status() + ": it does not let us " + verb + " it; " + access;
                    case 405, 501 ->
                        "the server answers " + answer.status()
                                + ": it does not take PUT; publish to a file in its directory";
                    default -> "the server answers " + answer.status() + answer.excerpt();
                });
    }

    private HttpRequest.Builder request() throws FetchFailure {
        if (!url.getScheme().equals("https") && !HttpGet.isLoopback(String.valueOf(url.getHost()))) {
            throw new FetchFailure(
                    "it is not https, so anybody on the way could write something else; name an https URL");
        }
        try {
            HttpRequest.Builder request = HttpRequests.anonymous(url).header(HttpHeaders.USER_AGENT, "homeostat");
            String tokenFile = config.tokenFile();
            (tokenFile == null
                            ? HttpRequests.credentials(url)
                            : Optional.of("Bearer " + HttpsFetcher.secret(tokenFile, SETTING + ".tokenFile")))
                    .ifPresent(value -> request.header(HttpHeaders.AUTHORIZATION, value));
            return request;
        } catch (IllegalArgumentException e) {
            throw new FetchFailure("nothing can be sent to this URL or with this token; correct them");
        }
    }

    private Answer send(HttpRequest request) throws FetchFailure, InterruptedException {
        try (HttpClient client = HttpClients.open(config.tls(), SETTING + ".tls")) {
            return HttpGet.send(client, request);
        } catch (IOException e) {
            throw new FetchFailure(String.valueOf(e.getMessage()), e);
        }
    }

    @Override
    public void close() {
        // Each request has a client of its own.
    }
}
