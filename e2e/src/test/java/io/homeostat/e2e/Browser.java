package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;
import org.openqa.selenium.By;
import org.openqa.selenium.JavascriptException;
import org.openqa.selenium.Keys;
import org.openqa.selenium.OutputType;
import org.openqa.selenium.StaleElementReferenceException;
import org.openqa.selenium.WebElement;
import org.openqa.selenium.WindowType;
import org.openqa.selenium.chrome.ChromeDriver;
import org.openqa.selenium.chrome.ChromeDriverService;
import org.openqa.selenium.chrome.ChromeOptions;
import org.openqa.selenium.interactions.Actions;

/** Chromium without a screen, as the system has it installed; nothing is fetched. */
final class Browser implements AutoCloseable {
    private static final List<Path> PROGRAMS = List.of(Path.of("/usr/bin/chromium"), Path.of("/usr/bin/google-chrome"));
    private static final Path DRIVER = Path.of("/usr/bin/chromedriver");

    private final ChromeDriver driver;

    private Browser(ChromeDriver driver) {
        this.driver = driver;
    }

    /** Skips the test where there is none. */
    static Browser open() {
        Path program = PROGRAMS.stream().filter(Files::isExecutable).findFirst().orElse(null);
        assumeTrue(program != null && Files.isExecutable(DRIVER), "needs chromium and chromedriver");
        ChromeOptions options = new ChromeOptions();
        options.setBinary(Objects.requireNonNull(program).toString());
        options.addArguments(
                "--headless=new",
                // Chromium's own needs a user that is not root, and namespaces that containers do not have.
                "--no-sandbox",
                "--disable-dev-shm-usage",
                "--disable-gpu",
                "--no-proxy-server",
                // Nothing but this machine has a name.
                "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1",
                "--disable-background-networking",
                "--disable-component-update",
                "--force-device-scale-factor=1",
                "--hide-scrollbars",
                "--window-size=1280,900");
        options.setCapability("goog:loggingPrefs", Map.of("browser", "ALL"));
        ChromeDriverService service = new ChromeDriverService.Builder()
                .usingDriverExecutable(DRIVER.toFile())
                .build();
        return new Browser(new ChromeDriver(service, options));
    }

    @CanIgnoreReturnValue
    Browser go(String url) {
        driver.get(url);
        return this;
    }

    /** Shows another tab, which hides those before. */
    @CanIgnoreReturnValue
    Browser newTab(String url) {
        driver.switchTo().newWindow(WindowType.TAB);
        return go(url);
    }

    /** Shows the tab again that was opened first. */
    void firstTab() {
        driver.switchTo().window(driver.getWindowHandles().iterator().next());
    }

    String url() {
        return driver.getCurrentUrl();
    }

    String title() {
        return driver.getTitle();
    }

    /** All text that is shown. */
    String text() {
        return text("body");
    }

    /** The text of the first such element; empty while there is none. */
    String text(String selector) {
        try {
            List<WebElement> found = driver.findElements(By.cssSelector(selector));
            return found.isEmpty() ? "" : found.getFirst().getText();
        } catch (StaleElementReferenceException e) {
            // It was made anew just now.
            return "";
        }
    }

    int count(String selector) {
        return driver.findElements(By.cssSelector(selector)).size();
    }

    @CanIgnoreReturnValue
    Browser awaitText(String selector, String words) {
        eventually().until(() -> text(selector), text -> text.contains(words));
        return this;
    }

    void click(String selector) {
        eventually().ignoreExceptions().until(() -> {
            driver.findElement(By.cssSelector(selector)).click();
            return true;
        });
    }

    void type(String selector, String text) {
        driver.findElement(By.cssSelector(selector)).sendKeys(text);
    }

    /** Presses keys wherever the focus is. */
    @CanIgnoreReturnValue
    Browser press(CharSequence... keys) {
        new Actions(driver).sendKeys(keys).perform();
        return this;
    }

    void escape() {
        press(Keys.ESCAPE);
    }

    /** What has the focus: its data-row, else its id, else its text. */
    String focused() {
        return String.valueOf(script(
                "const one = document.activeElement; return one.dataset.row ?? (one.id || one.textContent.trim())"));
    }

    Object script(String script, Object... arguments) {
        return Objects.requireNonNullElse(driver.executeScript(script, arguments), "");
    }

    /** Width and height of what the page is shown in. */
    void size(int width, int height) {
        driver.executeCdpCommand(
                "Emulation.setDeviceMetricsOverride",
                Map.of("width", width, "height", height, "deviceScaleFactor", 1, "mobile", false));
    }

    void colours(String scheme) {
        driver.executeCdpCommand(
                "Emulation.setEmulatedMedia",
                Map.of("features", List.of(Map.of("name", "prefers-color-scheme", "value", scheme))));
    }

    Path picture(Path file) throws IOException {
        Files.createDirectories(Objects.requireNonNull(file.getParent()));
        return Files.write(file, driver.getScreenshotAs(OutputType.BYTES));
    }

    /** What axe finds wrong with the page as it is shown; one line each. */
    List<String> findings() throws IOException {
        try (InputStream in = Objects.requireNonNull(Browser.class.getResourceAsStream("/axe.min.js"))) {
            driver.executeScript(new String(in.readAllBytes(), StandardCharsets.UTF_8));
        }
        Object found = driver.executeAsyncScript("""
                const done = arguments[0];
                axe.run(document).then(
                    (result) => done(result.violations.map((one) =>
                        `${one.id}: ${one.help}: ${one.nodes.map((node) => node.html).join(' ')}`)),
                    (problem) => done([String(problem)]));
                """);
        return ((List<?>) Objects.requireNonNull(found))
                .stream().map(String::valueOf).toList();
    }

    /** What the browser complains of: errors, and what the policy of the page did not allow. */
    List<String> complaints() {
        return driver.manage().logs().get("browser").getAll().stream()
                .filter(entry -> entry.getLevel().intValue() >= java.util.logging.Level.WARNING.intValue())
                .map(entry -> entry.getMessage())
                .toList();
    }

    boolean isAlertOpen() {
        try {
            return driver.executeScript("return window.owned === true") instanceof Boolean owned && owned;
        } catch (JavascriptException e) {
            return true;
        }
    }

    /** Values of cookies that scripts can read. */
    String cookiesOfScripts() {
        return String.valueOf(script("return document.cookie"));
    }

    /** Names of all cookies. */
    Stream<String> cookies() {
        return driver.manage().getCookies().stream().map(cookie -> cookie.getName());
    }

    @Override
    public void close() {
        driver.quit();
    }
}
