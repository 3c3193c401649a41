package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.homeostat.controlplane.EtcdCluster;
import io.homeostat.e2e.measure.EtcdStore;
import io.homeostat.e2e.measure.Workplace;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * The view of a fleet on the page, in a browser, with a real etcd and a controller, and machines that only report. One after the other: of
 * so many browsers and clusters at once, etcd would not answer in time.
 */
@Execution(ExecutionMode.SAME_THREAD)
@EnabledIf("io.homeostat.controlplane.EtcdCluster#isInstalled")
@Tag("nightly")
final class FleetUiTest {
    private static final String EVIL = "<img src=x onerror=\"window.owned=true\">";
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String PREFIX = "/homeostat/";

    /** Pictures for docs/ui.md are written to this directory, when it is given. */
    private static final Path PICTURES = Path.of(System.getProperty("ui.pictures", "target/ui"));

    @RegisterExtension
    final Homeostat homeostat = new Homeostat();

    private Browser browser;
    private Workplace place;
    private EtcdCluster cluster;
    private EtcdStore store;
    private AgentConfig config;
    private Path file;

    @BeforeEach
    void start() throws IOException {
        browser = Browser.open();
        place = new Workplace();
        cluster = EtcdCluster.start(place.path("etcd"), 1);
        store = new EtcdStore(cluster.endpoints());
        config = AgentConfig.of(homeostat.desired())
                .with("instanceId", "vm-0")
                .with("sources.etcd.endpoints", cluster.endpoints())
                .with("ui.listen", "127.0.0.1:0")
                .with("ui.fleet", true);
        file = homeostat.file("fleet.yaml", config.toString());
        eventually()
                .ignoreExceptionsInstanceOf(IOException.class)
                .until(() -> store.read(PREFIX).values().isEmpty());
    }

    @AfterEach
    void close() throws IOException, InterruptedException {
        if (browser != null) {
            browser.close();
        }
        if (place != null) {
            store.close();
            place.killAll();
            cluster.close();
            place.close();
        }
    }

    private void put(String key, ObjectNode value) throws IOException, InterruptedException {
        store.put(PREFIX + key, value.toString().getBytes(StandardCharsets.UTF_8));
    }

    private void register(String machine, String role) throws IOException, InterruptedException {
        ObjectNode registration = JSON.createObjectNode().put("at", "2026-11-01T12:00:00Z");
        registration.putObject("labels").put("role", role);
        put("machines/" + machine, registration);
    }

    /** A machine says that it has a workload at a revision, where another one has failed. */
    private void report(String machine, String workload, String revision, String desired, String failure)
            throws IOException, InterruptedException {
        ObjectNode report = JSON.createObjectNode()
                .put("agent", "1.0")
                .put("at", "2026-11-01T12:00:00Z")
                .put("source", "etcd")
                .put("version", "1")
                .put("sequence", 1)
                .put("problems", 0);
        report.putArray("workloads")
                .addObject()
                .put("id", workload)
                .put("revision", revision)
                .put("desired", desired)
                .put("failed", failure.isEmpty() ? "" : desired)
                .put("state", "RUNNING")
                .put("converged", failure.isEmpty())
                .put("healthy", true)
                .put("restarts", 0)
                .put("failure", failure);
        put("reports/" + machine, report);
    }

    private static String rollout(String role, String waves) {
        StringBuilder documents = new StringBuilder();
        for (String revision : List.of("1", "2")) {
            documents.append("""
                    ---
                    apiVersion: homeostat.io/v1
                    kind: Process
                    metadata: {name: %s}
                    placement: {matchLabels: {role: %s}}
                    spec: {install: local, revision: "%s", entryPoint: /bin/sleep, arguments: ["1000"]}
                    """.formatted(role, role, revision));
        }
        return documents + """
                ---
                apiVersion: homeostat.io/v1
                kind: Rollout
                metadata: {name: %s-2}
                spec: {workloads: [process/%s], from: "1", to: "2", waves: [%s], hold: 1s, timeout: 1h, onFailure: halt}
                """.formatted(role, role, waves);
    }

    private Result fleet(String... words) {
        String[] line = new String[words.length + 3];
        line[0] = "fleet";
        System.arraycopy(words, 0, line, 1, words.length);
        line[words.length + 1] = "--config";
        line[words.length + 2] = file.toString();
        return homeostat.runExactly(line);
    }

    private void order(String action, String rollout) {
        eventually().until(() -> fleet(action, rollout).exit() == 0);
    }

    private JsonNode status() {
        // It ends with 1 also where a machine is silent; on a busy machine etcd may not answer in time.
        return eventually()
                .until(() -> fleet("status", "-o", "json"), said -> !said.out().isEmpty())
                .json();
    }

    private JsonNode status(String rollout) {
        return Shapes.stream(status().path("rollouts"))
                .filter(one -> one.path("name").asText().equals(rollout))
                .findFirst()
                .orElseThrow();
    }

    private List<String> waitedFor(String rollout, int count) {
        return eventually()
                .until(
                        () -> Shapes.stream(status(rollout).path("examples"))
                                .map(one -> one.path("machine").asText())
                                .toList(),
                        machines -> machines.size() == count);
    }

    private void awaitPhase(String rollout, String phase) {
        eventually().until(() -> status(rollout).path("phase").asText().equals(phase));
    }

    /**
     * Three rollouts: of web the second wave is open, that of db is halted, that of cache paused.
     *
     * @param db the one machine that has it
     * @param failure what it says of the new revision
     */
    private void rollOut(String db, String failure) throws IOException, InterruptedException {
        for (int i = 1; i <= 20; i++) {
            String machine = "vm-" + i;
            register(machine, "web");
            report(machine, "process/web", "1", "1", "");
        }
        register(db, "db");
        report(db, "process/db", "1", "1", "");
        for (int i = 21; i <= 24; i++) {
            register("vm-" + i, "cache");
        }
        Path set = homeostat.file(
                "set.yaml", rollout("web", "1, 25%, 100%") + rollout("db", "100%") + rollout("cache", "1, 50%, 100%"));
        eventually()
                .until(() -> homeostat
                                .runExactly(
                                        "publish", "-f", set.toString(), "--to", "etcd", "--config", file.toString())
                                .exit()
                        == 0);
        place.start(
                "controller",
                List.of(Distribution.program().toString(), "fleet", "controller", "--config", file.toString()));
        waitedFor("db-2", 1);
        report(db, "process/db", "1", "2", failure);
        awaitPhase("db-2", "halted");
        order("pause", "cache-2");
        for (String first : waitedFor("web-2", 1)) {
            report(first, "process/web", "2", "2", "");
        }
        for (String next : waitedFor("web-2", 4).subList(0, 2)) {
            report(next, "process/web", "2", "2", "");
        }
        awaitPhase("cache-2", "paused");
        waitedFor("web-2", 2);
    }

    /** Starts an agent and shows its page. */
    private void show() {
        homeostat.agent(config);
        browser.go(homeostat.run("ui").exits(0).out().strip()).awaitText("nav", "Fleet");
    }

    private void goTo(String hash) {
        browser.script("location.hash = arguments[0]", hash);
    }

    private static String of(String rollout) {
        return "[data-row=\"" + rollout + "\"]";
    }

    @Test
    void theViewShowsWhatTheCommandSaysAndOnlyThat() throws IOException, InterruptedException {
        rollOut(EVIL, EVIL);
        show();
        browser.awaitText("h2", "Workloads").press("5").awaitText("h2", "Fleet");

        browser.awaitText(".totals", "Machines\n26").awaitText(".totals", "Heard of\n22");
        assertEquals(26, status().path("machines").asInt());
        browser.awaitText(
                ".totals",
                "Controller that leads\n" + status().path("controller").asText());
        browser.awaitText(".totals", "▲ 4").awaitText(".totals", "Not well\n▲ 1");
        browser.awaitText("[aria-labelledby=fleet-silent]", "vm-21, vm-22, vm-23, vm-24");
        browser.awaitText("[aria-labelledby=fleet-not-well]", EVIL + " process/db is ")
                .awaitText("nav [aria-current=page]", "Fleet");
        assertEquals("Fleet · Homeostat", browser.title());

        browser.awaitText(of("web-2"), "◐ progressing")
                .awaitText(of("web-2"), "1 → 2, 20 machines, 0 failed, at most 0 may");
        browser.awaitText(of("web-2"), "wave 2 of 3 is open").awaitText(of("web-2"), "Waits for 2 of 5 machines.");
        List<String> waves = List.of(
                browser.text(of("web-2") + " .waves li:nth-child(1)"),
                browser.text(of("web-2") + " .waves > li:nth-child(2)"),
                browser.text(of("web-2") + " .waves > li:nth-child(3)"));
        assertEquals(
                List.of(
                        "Wave 1, 1 machine, opened\n1 done",
                        "Wave 2, 4 machines, opened\n2 done\n2 waiting",
                        "Wave 3, 15 machines, not opened\n15 not its turn"),
                waves);
        assertEquals(
                List.of("1", "2", "1"),
                List.of(1, 2, 3).stream()
                        .map(wave -> String.valueOf(
                                browser.count(of("web-2") + " .waves > li:nth-child(" + wave + ") rect")))
                        .toList());

        String halted = browser.text(of("db-2"));
        assertTrue(halted.contains("▲ halted"), halted);
        assertTrue(
                halted.contains("No wave opens, halted: "
                        + status("db-2").path("reason").asText()),
                halted);
        assertTrue(halted.contains(EVIL + " failed: process/db failed: " + EVIL), halted);
        assertTrue(halted.contains("1 failed, at most 0 may"), halted);
        browser.awaitText(of("cache-2"), "No wave opens, paused: paused by").awaitText(of("cache-2"), "1 silent");

        // What needs somebody comes first.
        browser.press("j");
        assertEquals("db-2", browser.focused());
        browser.press("j", "k", "k");
        assertEquals("db-2", browser.focused());
        order("resume", "cache-2");
        browser.awaitText(of("cache-2"), "progressing");
        assertEquals("db-2", browser.focused(), "what is shown anew takes the focus away from nobody");
        browser.press("/").press("web");
        eventually().until(() -> browser.count(".rollout") == 1);
        browser.escape();

        assertFalse(browser.isAlertOpen(), "the words of a machine became part of the page");
        assertEquals(0, browser.count("main img"));
        assertEquals(List.of(), browser.complaints());
    }

    @Test
    void theViewIsAccessibleInLightAndDarkAndOnNarrowScreens() throws IOException, InterruptedException {
        rollOut("vm-25", "it exited with status 1 within 2 s: could not open /srv/db/data: permission denied");
        show();
        goTo("#/fleet");
        for (String colours : List.of("light", "dark")) {
            browser.colours(colours);
            for (int width : List.of(1280, 320)) {
                browser.size(width, width == 320 ? 720 : 860);
                String name = "fleet-" + colours + (width == 320 ? "-narrow" : "");
                browser.awaitText("main", "permission denied");
                eventually().until(() -> browser.text(".totals").contains("Heard of\n22"));
                browser.picture(PICTURES.resolve("ui-" + name + ".png"));
                assertEquals(List.of(), browser.findings(), name);
                assertEquals(
                        "0",
                        browser.script("return String(Math.max(0, document.documentElement.scrollWidth - innerWidth))"),
                        name);
            }
        }
        browser.press("?").awaitText("#help", "5\nfleet");
        assertEquals(List.of(), browser.findings(), "help");
    }

    @Test
    void whileEtcdDoesNotAnswerTheViewShowsWhatItHeardLastAndTheRestGoesOn() throws IOException, InterruptedException {
        register("vm-1", "web");
        show();
        goTo("#/fleet");
        browser.awaitText(".totals", "Machines\n2").awaitText("main", "No rollout is published.");

        cluster.kill(0);
        browser.awaitText(".stopped", "Not up to date, as of");
        browser.awaitText(
                ".stopped",
                "could not list /homeostat/ in etcd at " + cluster.endpoints().getFirst());
        assertTrue(browser.text(".totals").contains("Machines\n2"), browser::text);
        assertEquals(List.of(), browser.findings());
        homeostat.declare("late.yaml", Document.script("late", "exec sleep 1000"));
        goTo("#/workloads");
        browser.awaitText("main", "process/late").awaitText("[data-row='process/late']", "RUNNING");
        goTo("#/fleet");
        browser.script("location.reload()");
        browser.awaitText("main", "The fleet can’t be shown now: ").awaitText("main", "/homeostat/");

        cluster.start(0);
        browser.awaitText(".totals", "Machines\n2");
        assertFalse(browser.text("main").contains("up to date"), browser::text);
    }

    /** The agent's answer to the view, as something between it and the page would give it. */
    private void answer(int status, String json) {
        browser.script("""
                window.askedBefore ??= window.fetch;
                const [status, json] = arguments;
                window.fetch = (path, options) => path === '/api/fleet'
                    ? Promise.resolve(new Response(json, {status}))
                    : window.askedBefore(path, options);
                """, status, json);
    }

    private void answer(ObjectNode said) {
        ObjectNode answer = JSON.createObjectNode();
        answer.putArray("results").add(said);
        answer.putArray("messages");
        answer(200, answer.toString());
    }

    @Test
    void whoLeadsAndWhatCannotBeReadIsTold() {
        show();
        goTo("#/fleet");
        browser.awaitText("main", "No rollout is published.");

        ObjectNode said =
                JSON.createObjectNode().put("machines", 25).put("silent", 13).put("controller", "ann 42");
        for (int i = 1; i <= 13; i++) {
            said.withArray("silentMachines").add("db-" + i);
        }
        for (int i = 1; i <= 12; i++) {
            said.withArray("notWell").addObject().put("machine", "vm-" + i).put("reason", "process/web is not healthy");
        }
        said.putArray("problems").addObject().put("key", "/homeostat/set").put("message", "can't be read: " + EVIL);
        ObjectNode rollout = said.putArray("rollouts")
                .addObject()
                .put("name", "web-2")
                .put("phase", "notBegun")
                .put("wave", 1)
                .put("from", "1")
                .put("to", "2")
                .put("machines", 1)
                .put("failures", 0)
                .put("maxFailures", 0)
                .put("reason", "no controller has begun it")
                .put("waitsFor", "");
        rollout.putArray("waves").addObject().put("machines", 1).put("notItsTurn", 1);
        rollout.putArray("examples");
        answer(said);
        browser.awaitText(".totals", "Controller that leads\nann 42");
        browser.awaitText(".totals", "Not well\n▲ 12").awaitText("main", "vm-10 process/web is not healthy");
        browser.awaitText("[aria-labelledby=fleet-silent]", "db-9, db-10\n3 more: homeostat fleet status -o json");
        browser.awaitText("[aria-labelledby=fleet-not-well]", "2 more: homeostat fleet status -o json");
        browser.awaitText("main", "What can’t be read").awaitText("main", "/homeostat/set can't be read: " + EVIL);
        browser.awaitText(of("web-2"), "○ not begun").awaitText(of("web-2"), "Wave 1, 1 machine, not opened");

        answer(said.put("controller", ""));
        browser.awaitText(".totals", "▲ none: nothing opens");
        answer(503, "{\"error\": \"too much at once\"}");
        browser.awaitText(".stopped", "too much at once. The page goes on asking.");
        assertTrue(browser.text(".totals").contains("none: nothing opens"), browser::text);
        answer(said.put("controller", "bob 43"));
        browser.awaitText(".totals", "bob 43");
        assertFalse(browser.text("main").contains("up to date"), browser::text);
        assertFalse(browser.isAlertOpen());

        // The view is left while an answer is waited for.
        browser.script("""
                window.waits = 0;
                window.fetch = (path, options) => path === '/api/fleet'
                    ? new Promise((never, refuse) => {
                        window.waits++;
                        options.signal.addEventListener('abort', () => refuse(options.signal.reason));
                      })
                    : window.askedBefore(path, options);
                """);
        eventually().until(() -> "1".equals(browser.script("return String(window.waits)")));
        goTo("#/plan");
        browser.awaitText("h2", "Plan");
        goTo("#/fleet");
        browser.awaitText(".totals", "bob 43");
        eventually().until(() -> "2".equals(browser.script("return String(window.waits)")));
        assertEquals(0, browser.count("main [role=alert]"), () -> browser.text("main"));
    }

    private int asked(String path) {
        return Integer.parseInt(String.valueOf(browser.script("return String(window.asked[arguments[0]] ?? 0)", path)));
    }

    /** Of what is asked every three seconds; the fleet is asked every five. */
    private void awaitThreeMoreLooks() {
        int before = asked("/api/status");
        eventually().until(() -> asked("/api/status") >= before + 3);
    }

    @Test
    void nothingIsAskedOfTheFleetWhileNobodyLooksAtIt() {
        show();
        browser.script("""
                const askedBefore = window.fetch;
                window.asked = {};
                window.fetch = (path, options) => {
                  window.asked[path] = (window.asked[path] ?? 0) + 1;
                  return askedBefore(path, options);
                };
                """);
        awaitThreeMoreLooks();
        assertEquals(0, asked("/api/fleet"));

        goTo("#/fleet");
        eventually().until(() -> asked("/api/fleet") >= 2);
        goTo("#/events");
        browser.awaitText("h2", "Events");
        int before = asked("/api/fleet");
        awaitThreeMoreLooks();
        assertEquals(before, asked("/api/fleet"));
    }
}
