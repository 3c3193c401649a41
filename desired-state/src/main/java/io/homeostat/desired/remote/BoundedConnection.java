package io.homeostat.desired.remote;

import com.google.common.net.HttpHeaders;
import io.homeostat.desired.platform.HttpRequests;
import io.netty.handler.codec.http.HttpResponseStatus;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.io.OutputStream;
import java.net.URI;
import java.net.URL;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import javax.net.ssl.HostnameVerifier;
import javax.net.ssl.KeyManager;
import javax.net.ssl.TrustManager;
import org.eclipse.jgit.transport.http.HttpConnection;
import org.jspecify.annotations.Nullable;

/**
 * One request of JGit to a git server, and its answer, of which only so much is read as an {@link AnswerLimit} allows, unpacked. It takes
 * no answer of a server of files alone: JGit makes arrays of whatever length such a server says an object has. The JDK's client bounds
 * headers and interim answers and reads no trailers, unlike its URLConnection. Only what JGit's TransportHttp calls is supported.
 */
final class BoundedConnection implements HttpConnection {
    private static final String SERVICE = "service=";

    private final HttpClient client;
    private final URL url;
    private final URI uri;
    private final HttpRequest.Builder request;
    private final AnswerLimit limit;
    private final ByteArrayOutputStream sent = new ByteArrayOutputStream();
    private String method = "GET";
    private @Nullable String withheld;
    private @Nullable HttpResponse<InputStream> answer;
    private @Nullable String redirected;
    private @Nullable InputStream content;

    /** @param client that follows no redirect; JGit does */
    BoundedConnection(HttpClient client, URL url, AnswerLimit limit) throws IOException {
        this.client = client;
        this.url = url;
        this.limit = limit;
        try {
            this.uri = URI.create(url.toString());
            this.request = HttpRequests.anonymous(uri);
        } catch (IllegalArgumentException e) {
            // Without the cause: it quotes the URL.
            throw new IOException("this is not a URL that can be fetched; correct sources.git.url");
        }
    }

    /** Sends the request when that was not done yet. */
    private HttpResponse<InputStream> answer() throws IOException {
        HttpResponse<InputStream> received = answer;
        if (received == null) {
            HttpRequest complete = request.method(
                            method,
                            sent.size() == 0 ? BodyPublishers.noBody() : BodyPublishers.ofByteArray(sent.toByteArray()))
                    .build();
            try {
                received = client.send(complete, HttpRequests.body());
            } catch (IOException | RuntimeException e) {
                // Not as the cause: what is at the bottom of it has no words, or quotes the URL.
                throw new IOException(HttpGet.words(complete, e));
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new InterruptedIOException("interrupted");
            }
            if (HttpRequests.isRedirect(received.statusCode())) {
                redirected = HttpRequests.redirected(uri, received.headers()).toString();
            }
            answer = received;
        }
        return received;
    }

    private HttpResponse<InputStream> received() {
        if (answer == null) {
            throw new IllegalStateException("not sent yet");
        }
        return answer;
    }

    @Override
    public int getResponseCode() throws IOException {
        return answer().statusCode();
    }

    /** The usual words: those of the server are not kept. */
    @Override
    public String getResponseMessage() throws IOException {
        return HttpResponseStatus.valueOf(getResponseCode()).reasonPhrase();
    }

    @Override
    public InputStream getInputStream() throws IOException {
        InputStream open = content;
        if (open == null) {
            answer();
            requireServed();
            open = limit.counted(HttpGet.unpacked(received()));
            content = open;
        }
        return open;
    }

    /** By what JGit goes by (gitprotocol-http(5)). */
    private void requireServed() throws IOException {
        String query = url.getQuery();
        int service = query == null ? -1 : query.lastIndexOf(SERVICE);
        if (query != null
                && service >= 0
                && !("application/x-" + query.substring(service + SERVICE.length()) + "-advertisement")
                        .equals(getContentType())) {
            throw new IOException("no git repository is served there; correct the URL, or have a git server answer it");
        }
    }

    @Override
    public @Nullable String getContentType() {
        return getHeaderField(HttpHeaders.CONTENT_TYPE);
    }

    /** Hides that the content was packed, so that it is not unpacked again, and has redirects lead where ours do. */
    @Override
    public @Nullable String getHeaderField(String name) {
        if (name.equalsIgnoreCase(HttpHeaders.LOCATION)) {
            return redirected;
        }
        return name.equalsIgnoreCase(HttpHeaders.CONTENT_ENCODING)
                ? null
                : received().headers().firstValue(name).orElse(null);
    }

    @Override
    public List<String> getHeaderFields(String name) {
        return received().headers().allValues(name);
    }

    @Override
    public Map<String, List<String>> getHeaderFields() {
        return received().headers().map();
    }

    @Override
    public URL getURL() {
        return url;
    }

    @Override
    public String getRequestMethod() {
        return method;
    }

    @Override
    public void setRequestMethod(String method) {
        this.method = method;
    }

    @Override
    public void setRequestProperty(String name, String value) {
        if (!name.equalsIgnoreCase(withheld)) {
            request.setHeader(name, value);
        }
    }

    /** Sends no such header, whatever JGit sets. */
    void withhold(String header) {
        withheld = header;
    }

    @Override
    public OutputStream getOutputStream() {
        return sent;
    }

    /** Sets how long the beginning of the answer may take. JGit itself bounds how long the rest may take. */
    @Override
    public void setReadTimeout(int milliseconds) {
        request.timeout(Duration.ofMillis(milliseconds));
    }

    @Override
    public void setConnectTimeout(int milliseconds) {
        // The client has one.
    }

    @Override
    public void setInstanceFollowRedirects(boolean follow) {
        // The client follows none.
    }

    @Override
    public void setUseCaches(boolean use) {
        // The client has none.
    }

    @Override
    public void setDoOutput(boolean output) {
        // The method says so.
    }

    @Override
    public void setFixedLengthStreamingMode(int length) {
        // The length is known when it is sent.
    }

    @Override
    public void setChunkedStreamingMode(int length) {
        // The length is known when it is sent.
    }

    @Override
    public int getContentLength() {
        throw new UnsupportedOperationException();
    }

    @Override
    public boolean usingProxy() {
        throw new UnsupportedOperationException();
    }

    @Override
    public void connect() {
        throw new UnsupportedOperationException();
    }

    @Override
    public void configure(KeyManager[] keys, TrustManager[] trust, SecureRandom random) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void setHostnameVerifier(HostnameVerifier verifier) {
        throw new UnsupportedOperationException();
    }
}
