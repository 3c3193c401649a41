package io.homeostat.observe.health;

import com.google.common.io.ByteStreams;
import java.io.BufferedReader;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.MalformedURLException;
import java.net.Socket;
import java.net.URI;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.HttpsURLConnection;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;

/**
 * A GET of HTTP/1.1 of which only the status of the answer matters, over a connection that its caller has opened: the classes of the JDK
 * don't say which one they use. No redirect is followed.
 */
record HttpQuestion(URL url) {
    /** So much of an answer is read, in bytes, to find its status behind those that are only provisional. */
    private static final int LARGEST_HEAD = 1 << 16;

    private static final int FIRST_FINAL = 200;
    private static final Pattern STATUS = Pattern.compile("HTTP/1\\.\\d +(\\d{3})( .*)?");

    static HttpQuestion of(String url) throws MalformedURLException {
        return new HttpQuestion(URI.create(url).toURL());
    }

    /** The host, an IPv6 address in brackets. A URI would have none where the name is one that the rules for names forbid. */
    String host() {
        return url.getHost();
    }

    int port() {
        return url.getPort() >= 0 ? url.getPort() : url.getDefaultPort();
    }

    /**
     * Asks over TLS if the URL says so, and then the other side has to prove its name.
     *
     * @return the status; negative when the answer is not HTTP
     */
    int ask(Socket connected) throws IOException {
        if (!url.getProtocol().equals("https")) {
            return exchange(connected);
        }
        try (SSLSocket tls = (SSLSocket) HttpsURLConnection.getDefaultSSLSocketFactory()
                .createSocket(connected, host().replaceAll("[\\[\\]]", ""), port(), true)) {
            SSLParameters parameters = tls.getSSLParameters();
            parameters.setEndpointIdentificationAlgorithm("HTTPS");
            tls.setSSLParameters(parameters);
            return exchange(tls);
        }
    }

    private int exchange(Socket socket) throws IOException {
        String file = url.getFile().startsWith("/") ? url.getFile() : "/" + url.getFile();
        String host = url.getPort() >= 0 && url.getPort() != url.getDefaultPort() ? host() + ":" + port() : host();
        String request = "GET " + file + " HTTP/1.1\r\nUser-Agent: homeostat\r\nHost: " + host
                + "\r\nAccept: */*\r\nConnection: close\r\n\r\n";
        socket.getOutputStream().write(request.getBytes(StandardCharsets.ISO_8859_1));
        return status(socket.getInputStream());
    }

    private static int status(InputStream answer) throws IOException {
        BufferedReader lines = new BufferedReader(
                new InputStreamReader(ByteStreams.limit(answer, LARGEST_HEAD), StandardCharsets.ISO_8859_1));
        while (true) {
            Matcher matcher = STATUS.matcher(line(lines));
            if (!matcher.matches()) {
                return -1;
            }
            int status = Integer.parseInt(matcher.group(1));
            if (status >= FIRST_FINAL) {
                return status;
            }
            while (!line(lines).isEmpty()) {
                // A header of the provisional answer.
            }
        }
    }

    private static String line(BufferedReader lines) throws IOException {
        String line = lines.readLine();
        if (line == null) {
            throw new EOFException("the connection ended before the answer");
        }
        return line;
    }
}
