package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.openqa.selenium.Keys;

/** The page, in a browser. */
@Tag("nightly")
final class UiTest {
    private static final String EVIL = "<img src=x onerror=\"window.owned=true\">";

    /** Pictures for docs/ui.md are written to this directory, when it is given. */
    private static final Path PICTURES = Path.of(System.getProperty("ui.pictures", "target/ui"));

    @RegisterExtension
    final Homeostat homeostat = new Homeostat();

    private Browser browser;

    @BeforeEach
    void openBrowser() {
        browser = Browser.open();
    }

    @AfterEach
    void closeBrowser() {
        if (browser != null) {
            browser.close();
        }
    }

    private AgentConfig config(boolean operations) {
        return AgentConfig.of(homeostat.desired())
                .with("ui.listen", "127.0.0.1:0")
                .with("ui.operations", operations);
    }

    /** Starts an agent and shows its page. */
    private void show(boolean operations) {
        homeostat.agent(config(operations));
        browser.go(homeostat.run("ui").exits(0).out().strip());
    }

    private void goTo(String hash) {
        browser.script("location.hash = arguments[0]", hash);
    }

    private void declareShop() {
        declareShop(frontend().with("env.GREETING", "hello"));
    }

    private static Document frontend() {
        return Document.script("frontend", "exec sleep 1000")
                .with("metrics.interval", "1s")
                .with("dependsOn", List.of("process/web"));
    }

    private void declareShop(Document frontend) {
        homeostat.declare(
                "shop.yaml",
                Document.script("db", "echo ready for connections; exec sleep 1000")
                        .with("metrics.interval", "1s"),
                Document.script("cache", "exec sleep 1000").with("metrics.interval", "1s"),
                Document.script(
                                "web",
                                "i=0; while :; do i=$((i+1)); j=0; while [ $j -lt 4000 ]; do j=$((j+1)); done; echo \"GET /item/$i 200\"; sleep 1; done")
                        .with("metrics.interval", "1s")
                        .with("dependsOn", List.of("process/db", "process/cache")),
                Document.script("mailer", "echo no route to host; exit 3").with("dependsOn", List.of("process/db")),
                frontend);
    }

    /** When a window opens that is closed for the next hours. */
    private static String closed() {
        return String.format(
                Locale.ROOT, "%02d:00", (ZonedDateTime.now(ZoneOffset.UTC).getHour() + 12) % 24);
    }

    @Test
    void thePageShowsWhatCommandsSayAndOnlyThat() throws IOException {
        homeostat.keepsSecret("correct-horse-battery");
        homeostat.declare(
                "evil.yaml",
                Document.script("web", "echo '" + EVIL + "'; exec sleep 1000")
                        .label("team", "sre")
                        .with("env.PASSWORD", "correct-horse-battery"),
                Document.script("loop", "echo '" + EVIL + "'; exit 3"));
        show(false);

        browser.awaitText("main", "process/web").awaitText("main", "process/loop");
        assertEquals("Workloads · Homeostat", browser.title());
        assertFalse(browser.url().contains("token"), browser.url());
        assertEquals("", browser.cookiesOfScripts());
        assertEquals(
                1,
                browser.cookies().filter(name -> name.startsWith("homeostat-")).count());
        goTo("#/workload/process/web");
        browser.awaitText(".lines", EVIL).awaitText("[data-part=events]", "PLUGIN_INSTALLED");
        homeostat.run("pause", "process/loop", "--reason", EVIL).exits(0);
        goTo("#/workload/process/loop");
        browser.awaitText("[data-part=conditions]", EVIL);
        assertEquals(0, browser.count(".buttons button"), "it only shows");
        goTo("#/plan");
        browser.awaitText("main", "Plan");
        goTo("#/events");
        browser.awaitText("main", EVIL);
        assertFalse(browser.isAlertOpen(), "a workload's words became part of the page");
        assertEquals(0, browser.count("main img"));
        assertFalse(browser.text().contains("correct-horse-battery"));
        assertEquals(List.of(), browser.complaints());
        // The policy holds for whatever would get into the page all the same.
        browser.script("document.body.insertAdjacentHTML('beforeend', arguments[0])", EVIL);
        eventually()
                .until(() -> browser.complaints().stream().anyMatch(one -> one.contains("Content Security Policy")));
        assertFalse(browser.isAlertOpen());
    }

    @Test
    void theKeyboardIsEnough() {
        declareShop();
        show(false);
        eventually().until(() -> browser.count(".row") == 5);

        browser.press("/");
        assertEquals("search", browser.focused());
        browser.press("db");
        eventually().until(() -> browser.count(".row") == 1);
        browser.press(Keys.ARROW_DOWN);
        assertEquals("process/db", browser.focused());
        browser.press(Keys.ENTER).awaitText("h2", "process/db");
        assertTrue(browser.url().endsWith("#/workload/process/db"), browser.url());
        browser.escape();
        browser.awaitText("h2", "Workloads").press("/");
        browser.escape();
        eventually().until(() -> browser.count(".row") == 5);
        browser.escape();
        browser.press("j", "j", "k");
        String first = browser.focused();
        assertTrue(first.startsWith("process/"), first);
        // Looking again every three seconds takes nothing away from who is in the list.
        eventually().until(() -> browser.text("[data-row='process/db'] .up").contains(" s"));
        assertEquals(first, browser.focused());
        browser.press("2").awaitText("h2", "Dependencies").press("j");
        assertTrue(browser.focused().startsWith("process/"), browser::focused);
        browser.press("?").awaitText("#help", "Keyboard shortcuts");
        browser.escape();
        assertEquals("", browser.text("#help"));
    }

    @Test
    void whoMayOperateIsAskedFirst() {
        homeostat.declare("web.yaml", Document.script("web", "exec sleep 1000"));
        show(true);
        homeostat.awaitRunning("process/web");
        goTo("#/workload/process/web");

        browser.click("[data-key=pause]");
        browser.awaitText("#confirm", "Pause process/web?");
        browser.escape();
        homeostat.run("status", "process/web").doesNotSay("by request");
        browser.click("[data-key=pause]");
        browser.type("#reason", "the disk is being replaced");
        browser.click("#confirm .primary");
        browser.awaitText("[data-part=conditions]", "the disk is being replaced");
        browser.click("[data-key=resume]");
        browser.click("#confirm .primary");
        browser.awaitText(".buttons", "Pause");
        long before = homeostat.pid("process/web");
        browser.click("[data-key=restart]");
        browser.click("#confirm .primary");
        homeostat.awaitAnother("process/web", before);
        eventually().until(() -> browser.count("#confirm[open]") == 0);
        browser.click("[data-key=rollback]");
        browser.awaitText("#to", "the one that worked before");
        browser.click("#confirm .primary");
        eventually().until(() -> browser.text("#confirm [role=status]").length() > "Under way …".length());
    }

    @Test
    void everyViewIsAccessibleInLightAndDarkAndOnNarrowScreens() throws IOException {
        declareShop();
        show(true);
        eventually().until(() -> browser.count(".row") == 5 && browser.count(".sparkline") >= 6);
        eventually().until(() -> homeostat.run("status", "process/frontend").exit() == 0);
        declareShop(frontend()
                .with("env.GREETING", "good morning")
                .with("maintenanceWindow.start", closed())
                .with("maintenanceWindow.duration", "1h")
                .with("maintenanceWindow.timezone", "UTC"));
        for (String colours : List.of("light", "dark")) {
            browser.colours(colours);
            for (int width : List.of(1280, 320)) {
                browser.size(width, width == 320 ? 720 : 860);
                for (String view : List.of("workloads", "graph", "plan", "events", "workload/process/web")) {
                    goTo("#/" + view);
                    browser.awaitText("main", view.equals("plan") ? "good morning" : "process/web");
                    String name = view.replaceAll(".*/", "") + "-" + colours + (width == 320 ? "-narrow" : "");
                    browser.picture(PICTURES.resolve("ui-" + name + ".png"));
                    assertEquals(List.of(), browser.findings(), name);
                    assertEquals(
                            "0",
                            browser.script(
                                    "return String(Math.max(0, document.documentElement.scrollWidth - innerWidth))"),
                            name);
                }
            }
        }
        browser.press("?").awaitText("#help", "Keyboard shortcuts");
        assertEquals(List.of(), browser.findings(), "help");
    }

    /** Which has six connections to a host for all its tabs; a log that goes on keeps one. */
    @Test
    void tabsThatNobodySeesTakeNoConnectionFromTheOneThatIsSeen() {
        homeostat.declare("web.yaml", Document.script("web", "echo it is up; exec sleep 1000"));
        show(false);
        String page = browser.awaitText("main", "process/web").url().replaceFirst("#.*", "");
        goTo("#/workload/process/web");
        for (int tabs = 1; tabs < 8; tabs++) {
            browser.awaitText(".lines", "it is up");
            browser.newTab(page + "?" + tabs + "#/workload/process/web");
        }
        browser.awaitText(".lines", "it is up");
        browser.firstTab();
        browser.awaitText(".logs .bar", "live").awaitText(".lines", "it is up");
    }

    /** The page is answered so by something between it and the agent. */
    private void answer(String path, int status, String json) {
        browser.script("""
                window.askedBefore ??= window.fetch;
                window.fetch = (path, options) => path === '%s'
                    ? Promise.resolve(new Response('%s', {status: %d}))
                    : window.askedBefore(path, options);
                """.formatted(path, json, status));
    }

    private void letTheAgentAnswer() {
        browser.script("window.fetch = window.askedBefore");
    }

    @Test
    void whatIsShownStaysWhileTheAgentHasTooMuchToDo() {
        homeostat.declare("web.yaml", Document.script("web", "exec sleep 1000"));
        show(false);
        browser.awaitText("main", "process/web");

        answer("/api/plan", 503, "{\"error\": \"too much at once\"}");
        browser.awaitText("#problems", "not up to date: too much at once");
        assertTrue(browser.text("main").contains("process/web"), browser::text);

        letTheAgentAnswer();
        eventually().until(() -> browser.text("#problems").isEmpty());
    }

    @Test
    void anAddressThatNamesNoWorkloadSaysSo() {
        show(false);
        for (String name : List.of("process/none", "%zz", "%zz/%", "a%2fb/c")) {
            goTo("#/workloads");
            browser.awaitText("h2", "Workloads");
            goTo("#/workload/" + name + (name.contains("/") ? "" : "/x"));
            browser.awaitText("main", "Neither declared nor on this machine.");
        }
    }

    @Test
    void withoutWhatIsDeclaredTheRestIsShown() {
        homeostat.declare("web.yaml", Document.script("web", "exec sleep 1000"));
        show(false);
        browser.awaitText("main", "process/web");

        // Nothing is known any more, and then all is answered but one.
        browser.script("""
                window.askedBefore = window.fetch;
                window.fetch = () => Promise.reject(new TypeError('nobody answers'));
                """);
        browser.awaitText("main", "The agent does not answer");
        answer("/api/declared", 500, "{\"error\": \"more than 4 MiB\"}");
        browser.awaitText("main", "process/web");
        browser.awaitText("#problems", "Dependencies are missing or not up to date: more than 4 MiB.");
        goTo("#/graph");
        browser.awaitText("main", "Dependencies are missing or not up to date: more than 4 MiB.");
        assertFalse(browser.text("main").contains("Nothing depends on anything"), browser::text);
        goTo("#/workload/process/web");
        browser.awaitText("[data-part=neighbours]", "Dependencies are missing or not up to date: more than 4 MiB.");

        letTheAgentAnswer();
        browser.awaitText("[data-part=neighbours]", "Needs nothing, and nothing needs it.");
        eventually().until(() -> browser.text("#problems").isEmpty());
    }

    @Test
    void dependenciesStayWhileTheAgentHasTooMuchToDo() {
        homeostat.declare(
                "web.yaml",
                Document.script("db", "exec sleep 1000"),
                Document.script("web", "exec sleep 1000").with("dependsOn", List.of("process/db")));
        show(false);
        browser.awaitText("main", "process/web");
        goTo("#/graph");
        eventually().until(() -> browser.count(".edge") == 1);

        answer("/api/declared", 503, "{\"error\": \"too much at once\"}");
        browser.awaitText("main", "Dependencies are missing or not up to date: too much at once.");
        assertEquals(1, browser.count(".edge"));
    }

    @Test
    void anAddressThatIsOpenedDuringALoginIsTriedToo() {
        homeostat.agent(config(false));
        String address = homeostat.run("ui").exits(0).out().strip();
        browser.go(address.replaceFirst("#.*", "")).awaitText("main", "Not logged in");

        browser.script("""
                const askedBefore = window.fetch;
                window.logins = 0;
                window.fetch = async (path, options) => {
                  if (path === '/login' && ++window.logins === 1) {
                    await new Promise((resolve) => (window.goOn = resolve));
                  }
                  return askedBefore(path, options);
                };
                """);
        goTo("#token=used-up");
        eventually().until(() -> browser.script("return String(window.logins)").equals("1"));
        goTo(address.replaceFirst(".*#", "#"));
        eventually().until(() -> !browser.url().contains("token"));
        browser.script("window.goOn()");
        browser.awaitText("main", "Nothing is declared");
    }

    @Test
    void anAddressThatNamesNoViewShowsTheWorkloads() {
        show(false);
        for (String name : List.of("constructor", "__proto__", "none")) {
            goTo("#/events");
            browser.awaitText("h2", "Events");
            goTo("#/" + name);
            browser.awaitText("h2", "Workloads");
        }
    }

    @Test
    void withoutAFleetThereIsNoViewOfIt() {
        show(false);
        browser.awaitText("main", "Nothing is declared").press("4").awaitText("h2", "Events");

        browser.press("5").press("?").awaitText("#help", "Keyboard shortcuts");
        assertFalse(browser.text("#help").contains("fleet"), browser::text);
        browser.escape();
        assertEquals("Events", browser.text("h2"));
        goTo("#/fleet");
        browser.awaitText("h2", "Workloads");
        assertFalse(browser.text("nav").contains("Fleet"), browser::text);
    }

    @Test
    void aDefectOfOneViewIsToldAsThatAndTheOthersAreShown() {
        homeostat.declare("web.yaml", Document.script("web", "exec sleep 1000"));
        show(false);
        browser.awaitText("main", "process/web");

        answer("/api/plan", 200, "{\"results\": [{\"changes\": [null], \"drift\": [], \"summary\": {}}]}");
        goTo("#/plan");
        browser.awaitText("h2", "This view can’t be shown");
        assertFalse(browser.text().contains("does not answer"), browser::text);
        goTo("#/workloads");
        browser.awaitText("main", "process/web");

        goTo("#/plan");
        browser.awaitText("h2", "This view can’t be shown");
        letTheAgentAnswer();
        browser.awaitText("h2", "Plan");
    }

    @Test
    void anAddressOpensOneSessionAndEndsNoneWhenItIsUsedAgain() {
        homeostat.agent(config(false));
        String address = homeostat.run("ui").exits(0).out().strip();
        browser.go(address).awaitText("main", "Nothing is declared");
        assertNotEquals(address, homeostat.run("ui").exits(0).out().strip());

        browser.go(address);
        eventually().until(() -> !browser.url().contains("token"));
        browser.go(address.replaceFirst("/#.*", "/?again") + address.replaceFirst(".*#", "#"))
                .awaitText("main", "Nothing is declared");
        browser.script("localStorage.clear()");
        browser.awaitText("main", "Not logged in");
        browser.go(address).awaitText("main", "which logs in once");

        browser.go(homeostat.run("ui").exits(0).out().strip()).awaitText("main", "Nothing is declared");
    }

    @Test
    void aBrowserThatIsNotLoggedInIsToldWhatToDo() {
        show(false);
        browser.awaitText("main", "Nothing is declared");

        browser.script("localStorage.clear()");

        browser.awaitText("main", "Run homeostat ui");
    }
}
