package io.homeostat.reconcile.cli;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;

/** A web server for files of a story, which also lists them as a bucket does. */
final class StoryServer implements AutoCloseable {
    private final Path root;
    private final HttpServer server;

    /** What is answered whatever is asked; 0: what is there. */
    private volatile int status;

    /** @param root a directory, in which each directory is a bucket */
    StoryServer(Path root) throws IOException {
        this.root = root;
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", this::answer);
        server.start();
    }

    String url() {
        return "http://127.0.0.1:" + server.getAddress().getPort();
    }

    /** Answers everything so from now on. */
    void answers(int everything) {
        status = everything;
    }

    @Override
    public void close() {
        server.stop(0);
    }

    private void answer(HttpExchange exchange) throws IOException {
        Path file = root.resolve(exchange.getRequestURI().getPath().substring(1));
        byte[] body = new byte[0];
        int code = status;
        if (code == 0 && Files.exists(file)) {
            code = 200;
            body = Files.isDirectory(file) ? listing(file).getBytes(UTF_8) : Files.readAllBytes(file);
        } else if (code == 0) {
            code = 404;
        }
        exchange.getResponseHeaders().add("x-goog-generation", "1");
        exchange.sendResponseHeaders(code, body.length == 0 ? -1 : body.length);
        try (OutputStream out = exchange.getResponseBody()) {
            out.write(body);
        }
    }

    private static String listing(Path bucket) throws IOException {
        StringBuilder listing = new StringBuilder("<ListBucketResult>");
        try (Stream<Path> files = Files.walk(bucket)) {
            for (Path file : files.filter(Files::isRegularFile).sorted().toList()) {
                listing.append("<Contents><Key>")
                        .append(bucket.relativize(file))
                        .append("</Key><LastModified>")
                        .append(Files.getLastModifiedTime(file).toInstant())
                        .append("</LastModified></Contents>");
            }
        }
        return listing.append("</ListBucketResult>").toString();
    }
}
