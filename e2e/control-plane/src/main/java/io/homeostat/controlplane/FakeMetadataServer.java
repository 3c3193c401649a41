package io.homeostat.controlplane;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.Base64;
import java.util.List;
import java.util.NavigableMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The metadata server of a virtual machine, on loopback: values at their paths below {@code /computeMetadata/v1/}, directories as lists
 * of names, identity tokens. Refuses requests without {@code Metadata-Flavor: Google} as the real one does.
 */
public final class FakeMetadataServer implements AutoCloseable {
    private static final String ROOT = "/computeMetadata/v1/";
    private static final String FLAVOR = "Metadata-Flavor";
    private static final String IDENTITY = "instance/service-accounts/default/identity";
    private static final int OK = 200;
    private static final int FORBIDDEN = 403;
    private static final int NOT_FOUND = 404;

    private final HttpServer server;
    private final ExecutorService requests = Executors.newVirtualThreadPerTaskExecutor();
    private final NavigableMap<String, String> values = new ConcurrentSkipListMap<>();
    private final List<String> asked = new CopyOnWriteArrayList<>();
    private volatile Supplier<Instant> expiry = () -> Instant.now().plus(Duration.ofHours(1));
    private volatile int status = OK;
    private volatile boolean flavored = true;
    private volatile Duration delay = Duration.ZERO;

    /** Starts with an instance: id 1, zone {@code z} of project 1. */
    public FakeMetadataServer() throws IOException {
        set("instance/id", "1");
        set("instance/zone", "projects/1/zones/z");
        set("instance/machine-type", "projects/1/machineTypes/e2-small");
        set("project/numeric-project-id", "1");
        set("project/project-id", "homeostat-test");
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", this::serve);
        server.setExecutor(requests);
        server.start();
    }

    /** What {@code GCE_METADATA_HOST} has to be. */
    public String host() {
        return "127.0.0.1:" + server.getAddress().getPort();
    }

    /** The resource id of its instance: {@code projects/<number>/zones/<zone>/instances/<id>}. */
    public String resource() {
        return values.get("instance/zone") + "/instances/" + values.get("instance/id");
    }

    /** Gives a path such as {@code instance/attributes/tier} a value. */
    public void set(String path, String value) {
        values.put(path, value);
    }

    /** Takes a path away. */
    public void remove(String path) {
        values.remove(path);
    }

    /** When the tokens expire that are asked for from now on. */
    public void tokensExpire(Supplier<Instant> when) {
        expiry = when;
    }

    /** Answers everything with this status; 200 ends that. */
    public void fail(int withStatus) {
        status = withStatus;
    }

    /** Answers only after this time. */
    public void slow(Duration by) {
        delay = by;
    }

    /** Leaves out, or not, the header that tells a metadata server from any other. */
    public void flavored(boolean is) {
        flavored = is;
    }

    /** The paths that were asked for, with their queries, refused ones included. */
    public List<String> asked() {
        return List.copyOf(asked);
    }

    /** How many identity tokens were asked for. */
    public long tokensAsked() {
        return asked.stream().filter(path -> path.startsWith(IDENTITY)).count();
    }

    @Override
    public void close() {
        server.stop(0);
        requests.shutdownNow();
    }

    private void serve(HttpExchange exchange) throws IOException {
        try (exchange) {
            String path = exchange.getRequestURI().getPath();
            String relative = path.startsWith(ROOT) ? path.substring(ROOT.length()) : path;
            String query = exchange.getRequestURI().getQuery();
            asked.add(query == null ? relative : relative + "?" + query);
            if (delay.isPositive()) {
                Thread.sleep(delay);
            }
            if (flavored) {
                exchange.getResponseHeaders().set(FLAVOR, "Google");
            }
            if (status != OK) {
                respond(exchange, status, "the fake metadata server was told to fail");
            } else if (!"Google".equals(exchange.getRequestHeaders().getFirst(FLAVOR))) {
                respond(exchange, FORBIDDEN, "missing required header 'Metadata-Flavor'");
            } else if (relative.equals(IDENTITY)) {
                respond(exchange, OK, identityToken(audience(query), expiry.get(), tokensAsked()));
            } else {
                String found = relative.endsWith("/") ? children(relative) : values.get(relative);
                respond(exchange, found == null ? NOT_FOUND : OK, found == null ? "" : found);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private @Nullable String children(String directory) {
        String names = values.subMap(directory, directory + Character.MAX_VALUE).keySet().stream()
                .map(path -> path.substring(directory.length()))
                .map(path -> path.contains("/") ? path.substring(0, path.indexOf('/') + 1) : path)
                .distinct()
                .map(name -> name + "\n")
                .collect(Collectors.joining());
        return names.isEmpty() ? null : names;
    }

    private static void respond(HttpExchange exchange, int status, String text) throws IOException {
        byte[] body = text.getBytes(StandardCharsets.UTF_8);
        exchange.getResponseHeaders().set("Content-Type", "application/text");
        exchange.sendResponseHeaders(status, body.length == 0 ? -1 : body.length);
        exchange.getResponseBody().write(body);
    }

    /** A token in the form of the real ones (RFC 7519, compact form), without a signature that anybody could check. */
    public static String identityToken(String audience, Instant expires, long serial) {
        String claims =
                "{\"aud\":\"" + audience + "\",\"exp\":" + expires.getEpochSecond() + ",\"jti\":\"" + serial + "\"}";
        return encode("{\"alg\":\"RS256\",\"typ\":\"JWT\"}") + "." + encode(claims) + "." + encode("unsigned");
    }

    private static String audience(@Nullable String query) {
        return Stream.of((query == null ? "" : query).split("&", -1))
                .filter(parameter -> parameter.startsWith("audience="))
                .map(parameter -> parameter.substring("audience=".length()))
                .findFirst()
                .orElse("");
    }

    private static String encode(String text) {
        return Base64.getUrlEncoder().withoutPadding().encodeToString(text.getBytes(StandardCharsets.UTF_8));
    }
}
