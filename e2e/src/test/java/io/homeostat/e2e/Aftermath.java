package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;

import com.fasterxml.jackson.databind.JsonNode;
import com.google.common.base.Splitter;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
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
import org.jspecify.annotations.Nullable;

/**
 * What a test leaves behind, and how to be rid of it.
 *
 * @param commands that it has started
 * @param agent the last one that it has started; null when there was none
 * @param root of its directories
 */
record Aftermath(
        Homeostat homeostat, Commands commands, @Nullable Agent agent, Path root) {

    /** Takes away every workload that has a process, and waits until nothing of it is left. */
    void removeAll() {
        if (agent != null) {
            agent.requireNotEndedByItself();
        }
        if (agent != null && agent.isEnforcing()) {
            commands.endAllBut(agent);
            Path _ = homeostat.file("agent.yaml", AgentConfig.of().toString());
            agent.hangUp();
            withdrawAndDelete(agent);
            return;
        }
        commands.endAll();
        Set<String> running = running();
        if (running.isEmpty()) {
            return;
        }
        if (commands.hadAgent()) {
            withdrawAndDelete(homeostat.agent(AgentConfig.of()));
            return;
        }
        // All at once: a command repairs what is still declared, and what a test has killed would run again after it.
        running.addAll(declared().map(Aftermath::id).toList());
        delete(running);
    }

    /** What has a process, and tasks that have a directory: it has mounts in it, and they have control groups. */
    private Set<String> running() {
        return Stream.concat(
                        commands.processes().stream().map(Processes.Seen::workload),
                        homeostat.allocations().stream().map(directory -> "task/" + directory.getFileName()))
                .filter(workload -> !workload.isEmpty())
                .collect(Collectors.toCollection(TreeSet::new));
    }

    /** @param enforcing one whose configuration declares nothing: only an agent withdraws what files declare */
    private void withdrawAndDelete(Agent enforcing) {
        eventually().until(() -> declared().allMatch(Aftermath::isApplied));
        Set<String> applied = declared().map(Aftermath::id).collect(Collectors.toCollection(TreeSet::new));
        if (!applied.isEmpty()) {
            delete(applied);
        }
        // What is being launched when it is withdrawn has no process yet, and is shown until it is removed.
        eventually()
                .until(() -> running().isEmpty()
                        && Shapes.stream(homeostat.statuses().get("workloads")).allMatch(Aftermath::isPaused));
        enforcing.terminate().exits(0);
    }

    private void delete(Set<String> workloads) {
        homeostat
                .run(Stream.concat(Stream.of("delete"), workloads.stream()).toArray(String[]::new))
                .exits(0);
    }

    private Stream<JsonNode> declared() {
        return Shapes.stream(homeostat.statuses().get("workloads"))
                .filter(workload -> !workload.get("source").isNull());
    }

    private static boolean isApplied(JsonNode workload) {
        return workload.get("source").asText().equals("applied");
    }

    /** As it stays for as long as nobody resumes it, declared or not. */
    private static boolean isPaused(JsonNode workload) {
        return Homeostat.condition(workload, "Paused").equals("True");
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

    /** Files below its directories that this JVM has open, as an agent would that did not end all of its work. */
    List<String> openFiles() throws IOException {
        List<String> open = new ArrayList<>();
        try (DirectoryStream<Path> descriptors = Files.newDirectoryStream(Path.of("/proc/self/fd"))) {
            for (Path descriptor : descriptors) {
                try {
                    Path file = Files.readSymbolicLink(descriptor);
                    if (file.startsWith(root)) {
                        open.add(file.toString());
                    }
                } catch (NoSuchFileException e) {
                    // It was closed meanwhile.
                }
            }
        }
        return open;
    }

    /** Takes away what is mounted below its directories, and says where that was. */
    List<String> unmountAll() throws IOException {
        List<String> points = Files.readAllLines(Path.of("/proc/self/mounts")).stream()
                .map(line -> Splitter.on(' ').splitToList(line).get(1))
                .filter(point -> point.startsWith(root + "/"))
                .toList();
        for (String point : points.reversed()) {
            Process unmount =
                    new ProcessBuilder("umount", "-l", point).inheritIO().start();
            eventually().until(() -> !unmount.isAlive());
        }
        return points;
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
