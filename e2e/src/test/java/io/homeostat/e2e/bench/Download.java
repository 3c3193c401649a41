package io.homeostat.e2e.bench;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.Executors;

/** A server of archives on loopback. */
final class Download {
    private Download() {}

    /** What it serves. */
    @FunctionalInterface
    interface Content {
        long write(String path, OutputStream body) throws IOException;
    }

    /** Starts one that answers each request with so many bytes. */
    static HttpServer serve(Content content, long bytes) throws IOException {
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
        server.createContext("/", exchange -> {
            exchange.getResponseHeaders().add("Content-Type", "application/gzip");
            exchange.sendResponseHeaders(200, bytes);
            try (OutputStream body = exchange.getResponseBody()) {
                long _ = content.write(exchange.getRequestURI().getPath(), body);
            }
        });
        server.start();
        return server;
    }
}
