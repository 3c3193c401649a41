package io.homeostat.desired.remote;

import com.google.common.net.HttpHeaders;
import java.io.IOException;
import java.io.InputStream;
import java.net.Proxy;
import java.net.URL;
import java.util.zip.GZIPInputStream;
import org.eclipse.jgit.transport.http.JDKHttpConnection;
import org.jspecify.annotations.Nullable;

/**
 * A connection to a git server that reads only so much of an answer as an {@link AnswerLimit} allows, unpacked. It takes no answer of a
 * server of files alone: JGit makes arrays of whatever length such a server says an object has.
 */
final class BoundedConnection extends JDKHttpConnection {
    private static final String SERVICE = "service=";

    private final AnswerLimit limit;
    private @Nullable InputStream content;

    BoundedConnection(URL url, AnswerLimit limit) throws IOException {
        super(url);
        this.limit = limit;
    }

    BoundedConnection(URL url, Proxy proxy, AnswerLimit limit) throws IOException {
        super(url, proxy);
        this.limit = limit;
    }

    @Override
    public InputStream getInputStream() throws IOException {
        InputStream open = content;
        if (open == null) {
            requireServed();
            InputStream received = super.getInputStream();
            open = limit.counted(isPacked() ? new GZIPInputStream(received) : received);
            content = open;
        }
        return open;
    }

    /** By what JGit goes by (gitprotocol-http(5)). */
    private void requireServed() throws IOException {
        String query = getURL().getQuery();
        int service = query == null ? -1 : query.lastIndexOf(SERVICE);
        if (query != null
                && service >= 0
                && !("application/x-" + query.substring(service + SERVICE.length()) + "-advertisement")
                        .equals(getContentType())) {
            throw new IOException("no git repository is served there; correct the URL, or have a git server answer it");
        }
    }

    private boolean isPacked() {
        String encoding = super.getHeaderField(HttpHeaders.CONTENT_ENCODING);
        return encoding != null && (encoding.equals("gzip") || encoding.equals("x-gzip"));
    }

    /** Hides that the content was packed, so that it is not unpacked again. */
    @Override
    public @Nullable String getHeaderField(String name) {
        return name.equalsIgnoreCase(HttpHeaders.CONTENT_ENCODING) ? null : super.getHeaderField(name);
    }
}
