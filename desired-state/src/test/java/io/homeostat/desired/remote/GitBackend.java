package io.homeostat.desired.remote;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.common.primitives.Bytes;
import com.sun.net.httpserver.HttpExchange;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Path;
import java.util.Base64;
import java.util.Map;

/** Answers requests by git's own program for web servers (gitprotocol-http, git-http-backend). */
final class GitBackend {
    private GitBackend() {}

    /**
     * Answers one request.
     *
     * @param login USER:PASSWORD that is let in
     */
    static void serve(HttpExchange exchange, Path backend, Path repository, String login) throws IOException {
        byte[] asked = exchange.getRequestBody().readAllBytes();
        String wanted = "Basic " + Base64.getEncoder().encodeToString(login.getBytes(UTF_8));
        if (!wanted.equals(exchange.getRequestHeaders().getFirst("Authorization"))) {
            exchange.getResponseHeaders().add("WWW-Authenticate", "Basic realm=\"git\"");
            exchange.sendResponseHeaders(401, -1);
            exchange.close();
            return;
        }
        ProcessBuilder builder = new ProcessBuilder(backend.toString());
        String query = exchange.getRequestURI().getRawQuery();
        Map<String, String> environment = builder.environment();
        environment.put("GIT_PROJECT_ROOT", repository.toString());
        environment.put("GIT_HTTP_EXPORT_ALL", "1");
        environment.put("GIT_CONFIG_COUNT", "1");
        environment.put("GIT_CONFIG_KEY_0", "safe.directory");
        environment.put("GIT_CONFIG_VALUE_0", "*");
        environment.put("PATH_INFO", exchange.getRequestURI().getPath().replaceFirst("^/repository", ""));
        environment.put("QUERY_STRING", query == null ? "" : query);
        environment.put("REQUEST_METHOD", exchange.getRequestMethod());
        environment.put("CONTENT_LENGTH", Integer.toString(asked.length));
        header(exchange, "Content-Type", "CONTENT_TYPE", environment);
        header(exchange, "Content-Encoding", "HTTP_CONTENT_ENCODING", environment);
        header(exchange, "Git-Protocol", "GIT_PROTOCOL", environment);
        Process process = builder.start();
        try (OutputStream in = process.getOutputStream()) {
            in.write(asked);
        }
        answer(exchange, process.getInputStream().readAllBytes());
    }

    private static void header(HttpExchange exchange, String header, String variable, Map<String, String> environment) {
        String value = exchange.getRequestHeaders().getFirst(header);
        if (value != null) {
            environment.put(variable, value);
        }
    }

    private static void answer(HttpExchange exchange, byte[] output) throws IOException {
        int end = Bytes.indexOf(output, "\r\n\r\n".getBytes(ISO_8859_1));
        int status = 200;
        for (String line : new String(output, 0, end, ISO_8859_1).lines().toList()) {
            int colon = line.indexOf(':');
            String value = line.substring(colon + 1).strip();
            if (line.startsWith("Status:")) {
                status = Integer.parseInt(value.substring(0, 3));
            } else {
                exchange.getResponseHeaders().add(line.substring(0, colon), value);
            }
        }
        int start = end + 4;
        exchange.sendResponseHeaders(status, output.length == start ? -1 : output.length - start);
        try (OutputStream body = exchange.getResponseBody()) {
            body.write(output, start, output.length - start);
        }
    }
}
