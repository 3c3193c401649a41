package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionTimeoutException;

/**
 * What a test leaves behind, and how to be rid of it.
 *
 * @param commands that it has started
 * @param root of its directories
 */
record Aftermath(Homeostat homeostat, Commands commands, Path root) {

    /** Takes away every workload that has a process, and waits until nothing of it is left. */
    void removeAll() {
        Set<String> running = running();
        if (running.isEmpty()) {
            return;
        }
        if (commands.hadAgent()) {
            withdrawAndDelete();
            return;
        }
        // A command repairs what else is declared: what a test has killed runs again after it.
        Set<String> deleted = new TreeSet<>();
        while (!deleted.containsAll(running)) {
            running.removeAll(deleted);
            delete(running);
            deleted.addAll(running);
            running = running();
        }
    }

    private Set<String> running() {
        return commands.processes().stream()
                .map(Processes.Seen::workload)
                .filter(workload -> !workload.isEmpty())
                .collect(Collectors.toCollection(TreeSet::new));
    }

    /** Only an agent withdraws what files declare: one that reads a directory without any. */
    private void withdrawAndDelete() {
        try {
            Path nothing = Files.createDirectories(homeostat.directory().resolve("nothing.d"));
            Agent agent = homeostat.agent(AgentConfig.of(nothing));
            eventually().until(() -> declared().allMatch(Aftermath::isApplied));
            Set<String> applied = declared().map(Aftermath::id).collect(Collectors.toCollection(TreeSet::new));
            if (!applied.isEmpty()) {
                delete(applied);
            }
            agent.terminate().exits(0);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void delete(Set<String> workloads) {
        List<String> line = new ArrayList<>(List.of("delete"));
        line.addAll(workloads);
        homeostat.run(line.toArray(String[]::new)).exits(0);
    }

    private Stream<JsonNode> declared() {
        return Shapes.stream(homeostat.statuses().get("workloads"))
                .filter(workload -> !workload.get("source").isNull());
    }

    private static boolean isApplied(JsonNode workload) {
        return workload.get("source").asText().equals("applied");
    }

    private static String id(JsonNode workload) {
        return workload.get("kind").asText().toLowerCase(Locale.ROOT) + "/"
                + workload.get("name").asText();
    }

    /** What the program started and what still lives, after a moment for what is about to end. */
    List<Processes.Seen> processes() {
        try {
            Awaitility.await()
                    .atMost(Duration.ofSeconds(30))
                    .pollInterval(Duration.ofMillis(50))
                    .until(() -> commands.processes().isEmpty());
            return List.of();
        } catch (ConditionTimeoutException e) {
            return commands.processes();
        }
    }

    List<String> filesWith(String secret) {
        return Trees.contents(root).entrySet().stream()
                .filter(file ->
                        !file.getKey().startsWith("w/") && !file.getKey().startsWith("s/homeostat.db"))
                .filter(file -> file.getValue().contains(secret))
                .map(file -> "a secret is in " + file.getKey())
                .toList();
    }
}
