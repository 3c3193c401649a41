package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import io.homeostat.controlplane.FreePorts;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The alerts and the dashboard of docs/monitoring ask for what an agent serves. */
final class MonitoringTest {
    private static final Pattern METRIC = Pattern.compile("\\b(?:homeostat|process)_[a-z_]+");

    @RegisterExtension
    final Homeostat homeostat = new Homeostat();

    @Test
    void everyMetricOfAnAlertOrThePanelsIsServed() throws IOException {
        int port = FreePorts.take();
        homeostat.declare("looping.yaml", Document.script("looping", "echo up; sleep 1; exit 3"));
        homeostat.declare("web.yaml", Document.script("web", "exec sleep 1000"));
        homeostat.declare("missing.yaml", Document.missing("missing", homeostat.directory()));
        Agent _ = homeostat.agent(AgentConfig.of(homeostat.desired())
                .with("metrics.listen", "127.0.0.1:" + port)
                // Where nobody publishes anything.
                .with("sources.git.url", "file://" + homeostat.directory().resolve("nowhere")));
        Set<String> wanted = Stream.of(alerts(), dashboard())
                .flatMap(file -> metrics(text(file)))
                .collect(Collectors.toCollection(TreeSet::new));
        assertFalse(wanted.isEmpty());

        eventually().untilAsserted(() -> {
            Set<String> missing = new TreeSet<>(wanted);
            missing.removeAll(metrics(scrape(port)).collect(Collectors.toSet()));
            assertEquals(Set.of(), missing);
        });
    }

    private static Stream<String> metrics(String text) {
        return METRIC.matcher(text).results().map(MatchResult::group);
    }

    @Test
    void everyAlertIsInTheTableThatSaysWhatToDo() throws IOException {
        String page = Files.readString(Distribution.checkout().resolve("docs/operate.md"));
        List<String> unknown = new YAMLMapper()
                .readTree(alerts().toFile()).findValuesAsText("alert").stream()
                        .filter(alert -> !page.contains(alert))
                        .toList();
        assertEquals(List.of(), unknown);
        assertFalse(
                new ObjectMapper().readTree(dashboard().toFile()).path("panels").isEmpty());
    }

    @Test
    void prometheusTakesTheRules() throws IOException, InterruptedException {
        String path = System.getenv().getOrDefault("PATH", "");
        assumeTrue(
                Stream.of(path.split(":", -1)).anyMatch(bin -> Files.isExecutable(Path.of(bin, "promtool"))),
                "no promtool in PATH");
        Process check = new ProcessBuilder("promtool", "check", "rules", alerts().toString())
                .redirectErrorStream(true)
                .start();
        String said = new String(check.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertEquals(0, check.waitFor(), said);
    }

    private static Path alerts() {
        return Distribution.checkout().resolve("docs/monitoring/alerts.yaml");
    }

    private static Path dashboard() {
        return Distribution.checkout().resolve("docs/monitoring/grafana-dashboard.json");
    }

    private static String text(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String scrape(int port) throws IOException, InterruptedException {
        try (HttpClient client = HttpClient.newHttpClient()) {
            return client.send(
                            HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + "/metrics"))
                                    .build(),
                            HttpResponse.BodyHandlers.ofString())
                    .body();
        }
    }
}
