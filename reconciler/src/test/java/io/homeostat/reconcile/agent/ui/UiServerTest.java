package io.homeostat.reconcile.agent.ui;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.proto.agent.CommandRequest;
import io.homeostat.proto.agent.CommandRequest.CommandCase;
import io.homeostat.proto.agent.Format;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(60)
class UiServerTest {
    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final Pattern COOKIE = Pattern.compile("(?i)set-cookie: ([^;\r]+)");

    private final List<AutoCloseable> open = new ArrayList<>();
    private final List<CommandRequest> asked = new CopyOnWriteArrayList<>();
    private final AtomicLong nanos = new AtomicLong();
    private final AtomicLong used = new AtomicLong();

    private volatile CommandRunner runner = (request, out, err) -> {
        print(out, "{\"fine\":true}\n");
        return 0;
    };

    @AfterEach
    void close() throws Exception {
        for (AutoCloseable one : open.reversed()) {
            one.close();
        }
    }

    private UiServer server(boolean operations, Duration patience) throws IOException {
        return server(new AgentConfig.Ui("127.0.0.1:0", operations, false), patience);
    }

    private UiServer serverWithFleet() throws IOException {
        return server(new AgentConfig.Ui("127.0.0.1:0", false, true), UiServer.PATIENCE);
    }

    private UiServer server(AgentConfig.Ui config, Duration patience) throws IOException {
        UiServer server = UiServer.open(
                config,
                (request, out, err) -> {
                    asked.add(request);
                    return runner.run(request, out, err);
                },
                nanos::get,
                patience,
                used::incrementAndGet);
        open.add(server);
        return server;
    }

    private UiServer server() throws IOException {
        return server(false, UiServer.PATIENCE);
    }

    private static void print(OutputStream out, String text) {
        try {
            out.write(text.getBytes(StandardCharsets.UTF_8));
            out.flush();
        } catch (IOException e) {
            // As a PrintStream has it.
            Thread.currentThread().interrupt();
        }
    }

    /** A request as a browser that shows the page makes it, of which a test changes something. */
    private static final class Request {
        private final int port;
        private final String method;
        private final String path;
        private final Map<String, String> headers = new LinkedHashMap<>();
        private String body = "";

        Request(UiServer server, String method, String path) {
            this.port = server.port();
            this.method = method;
            this.path = path;
            with("Host", "127.0.0.1:" + port);
        }

        static Request post(UiServer server, String path, String body) {
            Request request = new Request(server, "POST", path)
                    .with("Origin", "http://127.0.0.1:" + server.port())
                    .with("Sec-Fetch-Site", "same-origin")
                    .with("Content-Type", "application/json")
                    .with("Content-Length", Integer.toString(body.getBytes(StandardCharsets.UTF_8).length));
            request.body = body;
            return request;
        }

        Request with(String header, String value) {
            headers.put(header, value);
            return this;
        }

        Request without(String header) {
            headers.remove(header);
            return this;
        }

        Request of(Login login) {
            return with("Cookie", login.cookie()).with("Homeostat-Key", login.key());
        }

        String text() {
            StringBuilder text = new StringBuilder(method + " " + path + " HTTP/1.1\r\n");
            headers.forEach((name, value) ->
                    text.append(name).append(": ").append(value).append("\r\n"));
            return text.append("\r\n").append(body).toString();
        }

        String send() throws IOException {
            try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
                socket.getOutputStream().write(text().getBytes(StandardCharsets.UTF_8));
                return readAll(socket);
            }
        }

        int status() throws IOException {
            return UiServerTest.status(send());
        }
    }

    private static int status(String answer) {
        return answer.isEmpty() ? 0 : Integer.parseInt(answer.substring(9, 12));
    }

    private static String readAll(Socket socket) throws IOException {
        // An interrupt, which is how JUnit ends a test that takes too long, ends no read.
        socket.setSoTimeout(30_000);
        try {
            return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        } catch (SocketException e) {
            return "";
        }
    }

    private static JsonNode body(String answer) throws IOException {
        return new ObjectMapper().readTree(answer.substring(answer.indexOf("\r\n\r\n")));
    }

    private record Login(String cookie, String key) {}

    private static String token(UiServer server) {
        return server.url().substring(server.url().indexOf("#token=") + 7);
    }

    private static Login login(UiServer server) throws IOException {
        String answer = Request.post(server, "/login", "{\"token\":\"" + token(server) + "\"}")
                .send();
        assertEquals(200, status(answer), answer);
        Matcher cookie = COOKIE.matcher(answer);
        assertTrue(cookie.find(), answer);
        return new Login(cookie.group(1), body(answer).path("key").asText());
    }

    private static Request get(UiServer server, String path) {
        return new Request(server, "GET", path);
    }

    private static Request operation(UiServer server, String operation) {
        return Request.post(
                server,
                "/api/operations",
                "{\"operation\":\"" + operation + "\",\"workload\":\"process/web\",\"reason\":\"a test\"}");
    }

    @Test
    void whoHasTheTokenIsToldWhatTheCommandSays() throws IOException {
        UiServer server = server();
        runner = (request, out, err) -> {
            print(out, "{\"workloads\":[]}\n");
            print(err, "{\"message\":\"nothing is declared\"}\n");
            return 1;
        };

        String answer = get(server, "/api/status").of(login(server)).send();

        assertEquals(
                "{\"exitStatus\":1,\"results\":[{\"workloads\":[]}],\"messages\":[{\"message\":\"nothing is declared\"}]}",
                body(answer).toString());
        assertEquals(CommandCase.STATUS, asked.getFirst().getCommandCase());
        assertEquals(Format.FORMAT_JSON, asked.getFirst().getPresentation().getFormat());
    }

    @ParameterizedTest
    @CsvSource({
        "/api/status, STATUS",
        "/api/plan, PLAN",
        "/api/declared, GET",
        "/api/history?workload=process/web, HISTORY",
        "/api/events, EVENTS",
        "/api/logs?workload=process/web, LOGS"
    })
    void eachViewIsACommandThatOnlyLooks(String path, CommandCase command) throws IOException {
        UiServer server = server();

        assertEquals(200, get(server, path).of(login(server)).status());

        assertEquals(command, asked.getFirst().getCommandCase());
        if (path.contains("?")) {
            assertTrue(asked.getFirst().toString().contains("process/web"), asked::toString);
        }
    }

    @Test
    void nothingIsAskedOfTheAgentWhileNobodyLooks() throws IOException {
        UiServer server = server();
        login(server);
        get(server, "/").send();

        assertEquals(List.of(), asked);
    }

    @Test
    void withoutBothSecretsOfASessionNobodyIsToldAnything() throws IOException {
        UiServer server = server();
        Login login = login(server);
        Login other = login(server);

        assertEquals(401, get(server, "/api/status").status());
        // A cookie alone may have been sent to another port of this machine.
        assertEquals(
                401, get(server, "/api/status").with("Cookie", login.cookie()).status());
        assertEquals(
                401,
                get(server, "/api/status").with("Homeostat-Key", login.key()).status());
        assertEquals(
                401,
                get(server, "/api/status")
                        .of(new Login(login.cookie(), other.key()))
                        .status());
        assertEquals(
                401,
                get(server, "/api/logs?workload=process/web")
                        .with("Cookie", login.cookie())
                        .status());
        assertEquals(401, operation(server, "pause").status());
        assertEquals(List.of(), asked);
        assertEquals(200, get(server, "/api/status").of(login).status());
    }

    @Test
    void anotherTokenOpensNoSession() throws IOException {
        UiServer server = server();
        String token = token(server);
        assertEquals(43, token.length(), "256 bits");

        for (String wrong : List.of("", token.substring(1), token + "A", "A".repeat(43))) {
            String answer = Request.post(server, "/login", "{\"token\":\"" + wrong + "\"}")
                    .send();
            assertEquals(401, status(answer), answer);
            assertFalse(answer.toLowerCase(Locale.ROOT).contains("set-cookie"), answer);
        }
        assertEquals(401, Request.post(server, "/login", "nonsense").status());
    }

    @Test
    void aTokenOpensOneSessionAndIsAnotherOneThen() throws IOException {
        UiServer server = server();
        String token = token(server);
        Login login = login(server);

        assertEquals(1, used.get());
        assertNotEquals(token, token(server));
        String again =
                Request.post(server, "/login", "{\"token\":\"" + token + "\"}").send();
        assertEquals(401, status(again), again);
        assertFalse(again.toLowerCase(Locale.ROOT).contains("set-cookie"), again);
        assertEquals(1, used.get());
        assertEquals(
                200, get(server, "/api/session").of(login).status(), "a login that fails takes nothing from others");
        login(server);
    }

    @Test
    void theCookieIsForNoScriptAndNoOtherSite() throws IOException {
        UiServer server = server();

        String answer = Request.post(server, "/login", "{\"token\":\"" + token(server) + "\"}")
                .send();

        assertTrue(
                answer.matches("(?is).*set-cookie: homeostat-" + server.port()
                        + "=[A-Za-z0-9_-]{43}; Path=/; HttpOnly; SameSite=Strict\r\n.*"),
                answer);
    }

    @Test
    void aSessionEndsAfterTwelveHours() throws IOException {
        UiServer server = server();
        Login login = login(server);
        nanos.set(Duration.ofHours(12).toNanos());
        assertEquals(200, get(server, "/api/session").of(login).status());
        nanos.set(Duration.ofHours(12).toNanos() + 1);
        assertEquals(401, get(server, "/api/session").of(login).status());
    }

    @Test
    void secretsAreNotComparedUntilTheFirstDifference() {
        // How long a comparison takes can't be measured here without luck; what it is done by can be seen.
        JavaClasses compared = new ClassFileImporter().importClasses(Sessions.class);

        classes()
                .should()
                .callMethod(MessageDigest.class, "isEqual", byte[].class, byte[].class)
                .check(compared);
        noClasses().should().callMethod(String.class, "equals", Object.class).check(compared);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "evil.example.com:PORT",
                "evil.example.com",
                "127.0.0.1",
                "127.0.0.1:1",
                "127.0.0.1.evil.example.com:PORT",
                "localhost.evil.example.com:PORT",
                "10.0.0.1:PORT",
                ""
            })
    void aNameThatWasMadeToLeadHereGetsNothing(String host) throws IOException {
        UiServer server = server(true, UiServer.PATIENCE);
        Login login = login(server);
        String name = host.replace("PORT", Integer.toString(server.port()));

        for (Request request : List.of(
                get(server, "/"),
                get(server, "/api/status").of(login),
                operation(server, "pause").of(login).with("Origin", "http://" + name),
                Request.post(server, "/login", "{\"token\":\"" + token(server) + "\"}")
                        .with("Origin", "http://" + name))) {
            assertEquals(421, request.with("Host", name).status(), request.text());
        }
        assertEquals(421, get(server, "/").without("Host").status());
        assertEquals(List.of(), asked);
    }

    @ParameterizedTest
    @ValueSource(strings = {"127.0.0.1:PORT", "localhost:PORT", "LOCALHOST:PORT", "[::1]:PORT"})
    void namesOfThisMachineAreItsOwn(String host) throws IOException {
        UiServer server = server();
        String name = host.replace("PORT", Integer.toString(server.port()));
        assertEquals(200, get(server, "/").with("Host", name).status());
        assertEquals(
                200,
                Request.post(server, "/login", "{\"token\":\"" + token(server) + "\"}")
                        .with("Host", name)
                        .with("Origin", "http://" + name)
                        .status());
    }

    /** What a browser leaves out where it is the port of http. */
    @Test
    void withoutAPortItIsPort80ThatIsMeant() {
        List<String> names = List.of("127.0.0.1", "localhost", "::1");
        for (String host : List.of("127.0.0.1", "LOCALHOST", "[::1]", "127.0.0.1:80", "[::1]:80")) {
            assertTrue(RequestHandler.isThis(names, host, 80), host);
        }
        for (String host : List.of("127.0.0.1", "[::1]", "127.0.0.1:80")) {
            assertFalse(RequestHandler.isThis(names, host, 8080), host);
        }
        for (String host : List.of("", "evil.example.com", "::1", "127.0.0.1:", "127.0.0.1:8080")) {
            assertFalse(RequestHandler.isThis(names, host, 80), host);
        }
    }

    @Test
    void anotherSiteCanAskForNothingEvenWithTheCookie() throws IOException {
        UiServer server = server(true, UiServer.PATIENCE);
        Login login = login(server);

        assertEquals(
                403,
                operation(server, "pause")
                        .of(login)
                        .with("Origin", "http://evil.example.com")
                        .status());
        assertEquals(
                403,
                operation(server, "pause")
                        .of(login)
                        .with("Origin", "http://127.0.0.1:" + (server.port() ^ 1))
                        .status());
        assertEquals(
                403, operation(server, "pause").of(login).with("Origin", "null").status());
        assertEquals(403, operation(server, "pause").of(login).without("Origin").status());
        assertEquals(
                403,
                operation(server, "pause")
                        .of(login)
                        .with("Sec-Fetch-Site", "cross-site")
                        .status());
        assertEquals(
                403,
                operation(server, "pause")
                        .of(login)
                        .with("Sec-Fetch-Site", "same-site")
                        .status());
        // What a form can send.
        assertEquals(
                415,
                operation(server, "pause")
                        .of(login)
                        .with("Content-Type", "text/plain")
                        .status());
        assertEquals(
                401,
                operation(server, "pause").of(login).without("Homeostat-Key").status());
        assertEquals(
                403,
                get(server, "/api/status")
                        .of(login)
                        .with("Sec-Fetch-Site", "cross-site")
                        .status());
        assertEquals(
                403,
                get(server, "/api/status")
                        .of(login)
                        .with("Origin", "http://evil.example.com")
                        .status());
        assertEquals(
                403,
                Request.post(server, "/login", "{\"token\":\"" + token(server) + "\"}")
                        .with("Origin", "http://evil.example.com")
                        .status());
        assertEquals(List.of(), asked);
        assertEquals(200, operation(server, "pause").of(login).status());
    }

    @Test
    void noAnswerMayBeFramedSniffedKeptOrLoadAnythingFromElsewhere() throws IOException {
        UiServer server = server();
        Login login = login(server);

        for (String answer : List.of(
                get(server, "/").send(),
                get(server, "/page.js").send(),
                get(server, "/nothing").send(),
                get(server, "/api/status").send(),
                get(server, "/api/status").of(login).send(),
                get(server, "/api/events").of(login).send(),
                get(server, "/").with("Host", "evil").send())) {
            String head = answer.substring(0, answer.indexOf("\r\n\r\n"));
            for (String line : List.of(
                    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"
                            + " img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
                    "X-Frame-Options: DENY",
                    "X-Content-Type-Options: nosniff",
                    "Referrer-Policy: no-referrer",
                    "Cache-Control: no-store")) {
                assertTrue(head.contains("\r\n" + line), () -> line + " is missing in " + head);
            }
            assertFalse(head.contains("Access-Control-"), head);
        }
    }

    @Test
    void thePageOnlyShowsUnlessTheConfigurationAllowsMore() throws IOException {
        UiServer server = server();
        Login login = login(server);
        assertFalse(body(get(server, "/api/session").of(login).send())
                .path("operations")
                .asBoolean());

        for (String operation : List.of("pause", "resume", "restart", "rollback")) {
            String answer = operation(server, operation).of(login).send();
            assertEquals(403, status(answer), answer);
            assertTrue(answer.contains("operations: true"), answer);
        }
        assertEquals(List.of(), asked);
    }

    @ParameterizedTest
    @CsvSource({"pause, PAUSE", "resume, RESUME", "restart, RESTART", "rollback, ROLLBACK"})
    void anOperationIsThatCommand(String operation, CommandCase command) throws IOException {
        UiServer server = server(true, UiServer.PATIENCE);
        Login login = login(server);
        assertTrue(body(get(server, "/api/session").of(login).send())
                .path("operations")
                .asBoolean());

        assertEquals(200, operation(server, operation).of(login).status());

        assertEquals(command, asked.getFirst().getCommandCase());
        assertTrue(asked.getFirst().toString().contains("process/web"), asked::toString);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "nonsense", "{}", "[]", "{\"operation\":\"delete\",\"workload\":\"process/web\"}"})
    void whatIsNoOperationIsRefused(String body) throws IOException {
        UiServer server = server(true, UiServer.PATIENCE);
        assertEquals(
                400,
                Request.post(server, "/api/operations", body).of(login(server)).status());
        assertEquals(List.of(), asked);
    }

    @Test
    void aFleetIsShownOnlyWhereTheConfigurationSaysSo() throws IOException {
        UiServer without = server(true, UiServer.PATIENCE);
        Login login = login(without);
        assertFalse(body(get(without, "/api/session").of(login).send())
                .path("fleet")
                .asBoolean());
        String refusal = get(without, "/api/fleet").of(login).send();
        assertEquals(403, status(refusal), refusal);
        assertTrue(refusal.contains("fleet: true"), refusal);
        assertEquals(List.of(), asked);

        UiServer with = serverWithFleet();
        Login another = login(with);
        JsonNode session = body(get(with, "/api/session").of(another).send());
        assertTrue(
                session.path("fleet").asBoolean() && !session.path("operations").asBoolean(), session::toString);
        assertEquals(401, get(with, "/api/fleet").status());
        String answer = get(with, "/api/fleet").of(another).send();
        assertEquals(200, status(answer), answer);
        assertEquals(
                "{\"exitStatus\":0,\"results\":[{\"fine\":true}],\"messages\":[]}",
                body(answer).toString());
        assertEquals(CommandCase.FLEET_STATUS, asked.getLast().getCommandCase());
        assertEquals(Format.FORMAT_JSON, asked.getLast().getPresentation().getFormat());
    }

    @Test
    void aStoreThatDoesNotAnswerKeepsNobodyFromWhatThisMachineSays() throws Exception {
        UiServer server = serverWithFleet();
        CommandRunner waits = endless(new CountDownLatch(1), new CountDownLatch(1));
        runner = (request, out, err) -> request.hasFleetStatus() ? waits.run(request, out, err) : 0;
        Login login = login(server);
        List<Socket> windows = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            windows.add(ask(server, login, "/api/fleet"));
        }
        awaitLooksAtFleet(1);

        await().atMost(PATIENCE).until(() -> !answered(windows).isEmpty());
        Socket refused = answered(windows).getFirst();
        assertEquals(503, status(readAll(refused)));
        for (int i = 0; i < 10; i++) {
            assertEquals(200, get(server, "/api/status").of(login).status());
        }
        windows.remove(refused);
        assertEquals(List.of(), answered(windows));
        assertEquals(1, looksAtFleet(), "of a large fleet one takes much of the agent's memory");

        // Whoever leaves lets in the next, also out of the queue.
        for (Socket window : windows) {
            window.close();
        }
        runner = (request, out, err) -> 0;
        await().atMost(PATIENCE).until(() -> get(server, "/api/fleet").of(login).status() == 200);
    }

    @Test
    void looksAtAFleetAreDoneOneAfterTheOther() throws Exception {
        UiServer server = serverWithFleet();
        CountDownLatch goOn = new CountDownLatch(1);
        runner = (request, out, err) -> {
            goOn.await();
            return 0;
        };
        Login login = login(server);
        List<Socket> windows = List.of(ask(server, login, "/api/fleet"), ask(server, login, "/api/fleet"));
        awaitLooksAtFleet(1);

        goOn.countDown();

        for (Socket window : windows) {
            assertEquals(200, status(readAll(window)));
        }
        assertEquals(2, looksAtFleet());
    }

    private static List<Socket> answered(List<Socket> sockets) throws IOException {
        List<Socket> answered = new ArrayList<>();
        for (Socket socket : sockets) {
            if (socket.getInputStream().available() > 0) {
                answered.add(socket);
            }
        }
        return answered;
    }

    private void awaitLooksAtFleet(int count) {
        await().atMost(PATIENCE).until(() -> looksAtFleet() == count);
    }

    private long looksAtFleet() {
        return asked.stream().filter(CommandRequest::hasFleetStatus).count();
    }

    @Test
    void methodsAndPathsOfOthersAreRefused() throws IOException {
        UiServer server = server(true, UiServer.PATIENCE);
        Login login = login(server);
        assertEquals(405, get(server, "/api/operations").of(login).status());
        assertEquals(405, get(server, "/login").status());
        assertEquals(405, Request.post(server, "/api/status", "{}").of(login).status());
        assertEquals(405, Request.post(server, "/api/fleet", "{}").of(login).status());
        assertEquals(405, Request.post(server, "/", "{}").status());
        assertEquals(404, get(server, "/api/../page.js").of(login).status());
        assertEquals(404, get(server, "/../package-info.class").status());
        assertEquals(404, get(server, "/Sessions.class").status());
        assertEquals(404, get(server, "/%2e%2e/x").status());
        assertEquals(404, get(server, "/api/secrets").of(login).status());
        String head = new Request(server, "HEAD", "/").send();
        assertTrue(head.startsWith("HTTP/1.1 200 ") && head.endsWith("\r\n\r\n"), head);
    }

    @Test
    void whatMakesNoSenseToTheCommandIsABadRequestWithItsWords() throws IOException {
        UiServer server = server();
        runner = (request, out, err) -> {
            print(err, "{\"error\":{\"message\":\"'x' names no workload\"}}\n");
            return 64;
        };
        String answer = get(server, "/api/history?workload=x").of(login(server)).send();
        assertEquals(400, status(answer), answer);
        assertTrue(answer.contains("names no workload"), answer);
    }

    @ParameterizedTest
    @ValueSource(strings = {"/api/logs?workload=%zz", "/api/status?%", "/api/history?workload=a%2"})
    void aQueryThatIsNotEncodedIsABadRequestThatSaysSo(String path) throws IOException {
        UiServer server = server();
        String answer = get(server, path).of(login(server)).send();
        assertEquals(400, status(answer), answer);
        assertTrue(answer.contains("not percent-encoded, where % is %25: "), answer);
        assertEquals(List.of(), asked);
    }

    @Test
    void eachLineIsAValueWhateverItsPieces() throws IOException {
        UiServer server = server();
        runner = (request, out, err) -> {
            print(out, "{\"o");
            print(out, "ne\":1}\n\n{\"two\":2}");
            print(out, "\n");
            print(err, "\n{\"message\":\"fine\"}");
            return 0;
        };
        assertEquals(
                "{\"exitStatus\":0,\"results\":[{\"one\":1},{\"two\":2}],\"messages\":[{\"message\":\"fine\"}]}",
                body(get(server, "/api/status").of(login(server)).send()).toString());
    }

    @Test
    void aDefectIsToldInTheLogOnly() throws IOException {
        UiServer server = server();
        runner = (request, out, err) -> {
            throw new IllegalStateException("with a secret in it");
        };
        String answer = get(server, "/api/status").of(login(server)).send();
        assertEquals(500, status(answer), answer);
        assertFalse(answer.contains("secret"), answer);
    }

    @Test
    void aResultWithoutEndTakesBoundedMemory() throws IOException {
        UiServer server = server();
        runner = (request, out, err) -> {
            byte[] megabyte = new byte[1 << 20];
            for (int i = 0; i <= Result.MOST >> 20; i++) {
                print(out, new String(megabyte, StandardCharsets.ISO_8859_1));
            }
            return 0;
        };
        String answer = get(server, "/api/status").of(login(server)).send();
        assertEquals(500, status(answer), answer);
        assertTrue(answer.contains("more than 4 MiB"), answer);
    }

    @Test
    void eachLineOfAStreamIsAnEventWhateverItsPieces() throws IOException {
        UiServer server = server();
        runner = (request, out, err) -> {
            print(out, "{\"line\":\"one\r");
            print(err, "{\"message\":\"not yet\"}\n");
            print(out, "\"}\n{\"line\":\"two\"}\n");
            return 1;
        };
        String answer =
                get(server, "/api/logs?workload=process/web").of(login(server)).send();

        assertTrue(answer.contains("content-type: text/event-stream"), answer);
        assertEquals(
                "event: note\ndata: {\"message\":\"not yet\"}\n\n" + "data: {\"line\":\"one \"}\n\n"
                        + "data: {\"line\":\"two\"}\n\n" + "event: end\ndata: 1\n\n",
                answer.substring(answer.indexOf("\r\n\r\n") + 4));
    }

    @Test
    void aStreamEndsWithItsReaderAndWithTheServer() throws Exception {
        UiServer server = server();
        CountDownLatch begun = new CountDownLatch(2);
        CountDownLatch ended = new CountDownLatch(2);
        runner = endless(begun, ended);
        Login login = login(server);
        Socket leaves = stream(server, login);
        Socket stays = stream(server, login);
        begun.await();

        leaves.close();
        await().atMost(Duration.ofSeconds(30)).until(() -> ended.getCount() == 1);
        server.close();
        ended.await();
        assertTrue(readAll(stays).endsWith("data: {}\n\n"));
    }

    private static CommandRunner endless(CountDownLatch begun, CountDownLatch ended) {
        return (request, out, err) -> {
            try {
                print(out, "{}\n");
                begun.countDown();
                Thread.sleep(Duration.ofHours(1));
                return 0;
            } finally {
                ended.countDown();
            }
        };
    }

    private Socket stream(UiServer server, Login login) throws IOException {
        return ask(server, login, "/api/events");
    }

    /** Without reading the answer. */
    @CanIgnoreReturnValue
    private Socket ask(UiServer server, Login login, String path) throws IOException {
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.port());
        open.add(socket);
        socket.getOutputStream().write(get(server, path).of(login).text().getBytes(StandardCharsets.UTF_8));
        return socket;
    }

    @Test
    void whoDoesNotReadAStreamIsGivenUp() throws Exception {
        UiServer server = server(false, Duration.ofSeconds(3));
        CountDownLatch ended = new CountDownLatch(1);
        runner = (request, out, err) -> {
            try {
                byte[] line = ("{" + "x".repeat(60_000) + "}\n").getBytes(StandardCharsets.UTF_8);
                while (true) {
                    out.write(line);
                }
            } catch (IOException e) {
                return 1;
            } finally {
                ended.countDown();
            }
        };
        stream(server, login(server));

        ended.await();
        assertEquals(200, get(server, "/").status());
    }

    @Test
    void streamsAndCommandsAreSoManyAtOnceAndTheRestIsTold() throws Exception {
        UiServer server = server();
        CountDownLatch begun = new CountDownLatch(24);
        runner = endless(begun, new CountDownLatch(24));
        Login login = login(server);
        for (int i = 0; i < 24; i++) {
            stream(server, login);
        }
        begun.await();

        assertEquals(503, get(server, "/api/events").of(login).status());
        runner = (request, out, err) -> 0;
        assertEquals(200, get(server, "/api/status").of(login).status(), "they leave room for what ends by itself");
    }

    @Test
    void whoSendsHalfARequestIsNotWaitedForForEver() throws IOException {
        UiServer server = server(false, Duration.ofMillis(300));
        try (Socket slow = new Socket(InetAddress.getLoopbackAddress(), server.port())) {
            slow.getOutputStream().write("POST /login HTTP/1.1\r\nHost".getBytes(StandardCharsets.UTF_8));
            assertEquals("", readAll(slow));
        }
        // On a busy machine a whole request, too, may take longer than that.
        await().untilAsserted(() -> assertEquals(200, get(server, "/").status()));
    }

    /** More than the kernel takes off our hands for a connection. */
    private static CommandRunner large() {
        return (request, out, err) -> {
            String most = "\"" + "~".repeat(Result.MOST - 3) + "\"\n";
            print(out, most);
            print(err, most);
            return 0;
        };
    }

    /** Longer in all than anybody is waited for; on a busy machine this test itself pauses for seconds. */
    @Test
    void whoReadsALongAnswerSlowlyGetsAllOfIt() throws Exception {
        UiServer server = server(false, Duration.ofSeconds(10));
        runner = large();
        String request = get(server, "/api/status").of(login(server)).text();
        try (Socket slow = new Socket()) {
            slow.setReceiveBufferSize(1 << 14);
            slow.setSoTimeout(30_000);
            slow.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), server.port()));
            slow.getOutputStream().write(request.getBytes(StandardCharsets.UTF_8));
            ByteArrayOutputStream read = new ByteArrayOutputStream();
            for (byte[] some = slow.getInputStream().readNBytes(1 << 17);
                    some.length > 0;
                    some = slow.getInputStream().readNBytes(1 << 17)) {
                read.write(some);
                Thread.sleep(200);
            }
            String answer = read.toString(StandardCharsets.UTF_8);
            assertEquals(
                    2 * (Result.MOST - 3),
                    answer.chars().filter(one -> one == '~').count());
            assertTrue(answer.endsWith("\"]}"));
        }
    }

    @Test
    void whoDoesNotReadAnAnswerIsGivenUp() throws IOException {
        UiServer server = server(false, Duration.ofSeconds(2));
        runner = large();
        String request = get(server, "/api/status").of(login(server)).text();
        try (Socket deaf = new Socket(InetAddress.getLoopbackAddress(), server.port())) {
            deaf.getOutputStream().write(request.getBytes(StandardCharsets.UTF_8));
            // What is sent to a connection that is closed is answered by its end, which nobody has to read for.
            await().atMost(Duration.ofSeconds(30)).until(() -> {
                try {
                    deaf.getOutputStream().write('\n');
                    return false;
                } catch (SocketException e) {
                    return true;
                }
            });
        }
    }

    @Test
    void aCommandThatTakesLongerThanThatIsWaitedFor() throws IOException {
        UiServer server = server(false, Duration.ofSeconds(2));
        runner = (request, out, err) -> {
            Thread.sleep(Duration.ofSeconds(4));
            return 0;
        };
        assertEquals(200, get(server, "/api/status").of(login(server)).status());
    }

    /** The name may also be that of an address at which somebody else listens. */
    @Test
    void whereItIsIsSaidByNumber() throws IOException {
        UiServer server = UiServer.open(
                new AgentConfig.Ui("localhost:0", false, false), runner, nanos::get, UiServer.PATIENCE, () -> {});
        open.add(server);
        assertTrue(server.url().matches("http://(127\\.0\\.0\\.1|\\[::1\\]):[0-9]+/#token=.*"), server.url());
    }

    @Test
    void longRequestsAreRefused() throws IOException {
        UiServer server = server();
        assertEquals(413, Request.post(server, "/login", "x".repeat(10_000)).status());
        assertEquals(400, get(server, "/" + "x".repeat(5000)).status());
        assertEquals(400, get(server, "/").with("X", "x".repeat(20_000)).status());
        assertEquals(200, get(server, "/").status());
    }

    @Test
    void idleConnectionsKeepNobodyOutAndTheOldestGoesFirst() throws IOException {
        UiServer server = server(false, Duration.ofHours(1));
        Socket oldest = new Socket(InetAddress.getLoopbackAddress(), server.port());
        open.add(oldest);
        for (int i = 0; i < 200; i++) {
            open.add(new Socket(InetAddress.getLoopbackAddress(), server.port()));
        }
        assertEquals(200, get(server, "/").status());
        assertEquals(-1, oldest.getInputStream().read());
    }
}
