package io.homeostat.desired.remote;

import com.google.common.net.HttpHeaders;
import java.io.IOException;
import java.io.InputStream;
import java.net.Proxy;
import java.net.URL;
import java.util.zip.GZIPInputStream;
import org.eclipse.jgit.transport.http.JDKHttpConnection;
import org.jspecify.annotations.Nullable;

/** A connection to a git server that reads only so much of an answer as an {@link AnswerLimit} allows, unpacked. */
final class BoundedConnection extends JDKHttpConnection {
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
            InputStream received = super.getInputStream();
            open = limit.counted(isPacked() ? new GZIPInputStream(received) : received);
            content = open;
        }
        return open;
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

    /** The length of the content; unknown when it can't be read, because JGit allocates an array of that length before. */
    @Override
    public int getContentLength() {
        int length = super.getContentLength();
        return isPacked() || length > limit.most() ? -1 : length;
    }
}
