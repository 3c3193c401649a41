package io.homeostat.reconcile.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.common.collect.ImmutableList;
import com.google.common.io.Closer;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.StateReader;
import io.homeostat.reconcile.ControlGroups;
import io.homeostat.reconcile.cli.Shell.Result;
import io.homeostat.reconcile.cli.Story.Line;
import io.homeostat.reconcile.command.environment.ExitStatus;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionTimeoutException;
import org.jspecify.annotations.Nullable;
import org.opentest4j.TestAbortedException;

/** Plays one story: runs its commands in this process, in a directory of the story's own, and checks what they print and return. */
final class StoryPlayer implements AutoCloseable {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Pattern WORD = Pattern.compile("(?:'([^']*)'|\"([^\"]*)\"|([^\\s'\"]+))+");
    private static final Pattern PART = Pattern.compile("'([^']*)'|\"([^\"]*)\"|([^'\"]+)");
    private static final Pattern DURATION = Pattern.compile("\\b(?:[0-9]+[dhms])+\\b");
    private static final Pattern VARIABLE = Pattern.compile("\\{([a-z][A-Za-z]*)}");

    private final Path directory;
    private Shell shell;
    private final Map<String, String> variables = new HashMap<>();
    private final Map<String, String> environment = new HashMap<>();
    private final Map<String, Result> remembered = new HashMap<>();
    private final Set<ProcessHandle> named = new HashSet<>();
    private final Surroundings surroundings;
    private Path file;
    private @Nullable TestAgent agent;
    private @Nullable Result last;
    private @Nullable Result previous;
    private String[] typed = {};
    private int linesOfOutput;

    StoryPlayer(Path directory) {
        this.directory = directory;
        this.file = directory;
        this.shell = new Shell(directory);
        this.surroundings = new Surroundings(directory, variables);
        variables.put(
                "machine",
                directory.relativize(shell.layout().machineDirectory()).toString());
        variables.put("dir", directory.toString());
        variables.put("process", Long.toString(ProcessHandle.current().pid()));
        shell.with(environment);
    }

    void play(Story story) throws IOException, InterruptedException {
        for (Line line : story.lines()) {
            try {
                play(line.mark(), substituted(line.text()));
            } catch (TestAbortedException e) {
                throw e;
            } catch (AssertionError | RuntimeException | IOException e) {
                throw new AssertionError(line.mark() + " " + line.text() + "\n" + e.getMessage() + "\n" + last, e);
            }
        }
        assertNothingMoreOnOutput();
    }

    @Override
    public void close() throws IOException {
        // A test that takes too long is interrupted; it leaves nothing behind either.
        boolean interrupted = Thread.interrupted();
        // What is registered last happens first, and all happens, whatever becomes of the rest.
        try (Closer steps = Closer.create()) {
            steps.register(surroundings);
            steps.register(() -> ControlGroups.removeEmpty(shell.layout()));
            steps.register(() -> new Leftovers(directory).end());
            // Where the state is lost or damaged nothing can be deleted.
            steps.register(() -> named.forEach(ProcessHandle::destroyForcibly));
            steps.register(() -> shell.close());
            steps.register(() -> surroundings.withdraw(shell));
            if (agent != null) {
                steps.register(agent::close);
            }
            steps.register(this::resumeAll);
            steps.register(surroundings::endCommands);
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private void resumeAll() {
        shell.read(StateReader::pauses)
                .forEach(pause -> shell.run("resume", pause.workload().toString()));
    }

    private void play(String mark, String text) throws IOException, InterruptedException {
        if (!mark.equals(":")) {
            assertNothingMoreOnOutput();
        }
        switch (mark) {
            case "[" -> beginFile(text);
            case "|" -> Files.writeString(file, Files.readString(file) + text + "\n");
            case "%" -> Script.run(directory, text);
            case "$" -> run(shell.withDirectories(command(text)));
            case "$$" -> run(command(text));
            case "=" -> assertStatus(Integer.parseInt(text));
            case ">" -> assertTrue(shown().contains(text), "is missing");
            case "!" -> assertFalse(shown().contains(text), "is there");
            case ":" -> assertNextOnOutput(text);
            case "::" -> assertTrue(last().out().lines().anyMatch(text::equals), "is no line");
            case ":-" -> assertEquals("", last().out());
            case "!-" -> assertEquals("", last().err());
            case "~" -> assertTrue(Pattern.compile(text).matcher(shown()).find(), "does not match");
            case "@" -> assertInJson(text);
            case "!@" -> assertTrue(json().at(text).isMissingNode(), "is there");
            case "&" -> prepare(text);
            default -> fail("unknown mark");
        }
    }

    private void beginFile(String name) throws IOException {
        file = directory.resolve(name);
        Files.createDirectories(Objects.requireNonNull(file.getParent()));
        Files.writeString(file, "");
    }

    /** A process can't change its working directory, so files are named in full. */
    private String[] command(String typed) {
        String[] words = words(typed);
        for (int i = 1; i < words.length; i++) {
            if (words[i - 1].equals("-f")
                    && !words[0].equals("logs")
                    && !words[i].equals("-")
                    && !words[i].isEmpty()
                    && !words[i].contains("://")) {
                words[i] = directory.resolve(words[i]).toString();
            }
        }
        return words;
    }

    private void run(String[] words) {
        typed = words;
        ran(shell.plain(words));
    }

    private void ran(Result result) {
        previous = last;
        last = result;
        linesOfOutput = 0;
        // Nobody is shown a stack trace.
        String all = result.out() + result.err();
        assertFalse(all.contains("\tat ") || all.contains("Exception:"), "a stack trace");
    }

    private void assertStatus(int status) {
        assertEquals(status, last().status(), "exit status");
        if (status == ExitStatus.USAGE) {
            assertRefersToHelp();
        }
    }

    /** As every command line that nobody understands does. */
    private void assertRefersToHelp() {
        assertEquals("", last().out());
        if (!last().err().startsWith("{")) {
            String command = Verb.of(typed[0]).map(verb -> verb.word() + " ").orElse("");
            String line = "(?:.*[?] )?homeostat: .*see homeostat " + command + "--help\n";
            assertTrue(last().err().matches(line), "is not one line that refers to the command's help");
        }
    }

    private Result last() {
        return Objects.requireNonNull(last, "a story begins with a command");
    }

    /** Both outputs as seen by somebody in the story's directory, whatever the widths of columns. */
    private String shown() {
        return (last().out() + last().err()).replace(directory + "/", "").replaceAll(" +", " ");
    }

    private ImmutableList<String> output() {
        return last().out()
                .replace(directory + "/", "")
                .replaceAll(" +", " ")
                .lines()
                .collect(ImmutableList.toImmutableList());
    }

    private void assertNextOnOutput(String text) {
        assertTrue(linesOfOutput < output().size(), "the output has ended");
        assertEquals(text, output().get(linesOfOutput));
        linesOfOutput++;
    }

    /** Standard output is compared whole as soon as its first line is. */
    private void assertNothingMoreOnOutput() {
        if (linesOfOutput > 0) {
            assertEquals(output().size(), linesOfOutput, "lines of output");
            linesOfOutput = 0;
        }
    }

    private void assertInJson(String text) throws JsonProcessingException {
        String pointer = words(text)[0];
        String value = text.substring(Math.min(text.length(), pointer.length() + 1));
        assertEquals(value, inJson(pointer));
    }

    private String inJson(String pointer) throws JsonProcessingException {
        JsonNode found = json().at(pointer);
        assertFalse(found.isMissingNode(), "nothing is there");
        return found.isContainerNode() ? found.toString() : found.asText();
    }

    /** Standard output of a command, or standard error if that is empty. */
    private static String printed(Result of) {
        return of.out().isEmpty() ? of.err() : of.out();
    }

    private JsonNode json() throws JsonProcessingException {
        JsonNode root = JSON.readTree(printed(last()));
        assertTrue(root.isContainerNode(), "is no JSON");
        return root;
    }

    /** An exit status with what was printed, with all durations alike, and so the widths of columns. */
    private static String comparable(Result of, String printed) {
        return of.status() + " " + DURATION.matcher(printed).replaceAll("Ns").replaceAll(" +", " ");
    }

    private static String whole(Result of) {
        return comparable(of, of.out() + "\nstandard error:\n" + of.err());
    }

    private Result remembered(String name) {
        return Objects.requireNonNull(remembered.get(name), "not remembered");
    }

    private void prepare(String text) throws IOException, InterruptedException {
        String[] words = words(text);
        String rest = text.substring(Math.min(text.length(), words[0].length() + 1));
        switch (words[0]) {
            case "agent" -> agent = TestAgent.start(shell);
            case "calls" ->
                assertEquals(
                        Long.parseLong(rest),
                        Objects.requireNonNull(agent, "no agent").calls(),
                        "calls");
            case "agentEnds" -> Objects.requireNonNull(agent, "no agent").close();
            case "clock" -> shell.at(Clock.fixed(Instant.parse(rest), ZoneOffset.UTC));
            case "environment" -> {
                String[] pair = rest.split("=", 2);
                environment.put(pair[0], pair[1]);
                shell.with(environment);
            }
            case "ordinaryUser" -> shell.asOrdinaryUser();
            case "terminal" -> shell.onTerminal();
            case "keyboard" -> shell.atKeyboard(rest.replace("\\n", "\n"));
            case "input" -> shell.typing(rest.replace("\\n", "\n"));
            case "sleeper" -> addSleeper(words[1], words[2]);
            case "kill" -> kill(id(words[1]));
            case "pid" -> {
                long pid = shell.pid(id(words[2]));
                ProcessHandle.of(pid).ifPresent(named::add);
                variables.put(words[1], Long.toString(pid));
            }
            case "keep" -> variables.put(words[1], inJson(words[2]));
            case "remember" -> remembered.put(rest, last());
            case "same" -> assertSame(rest);
            case "sameResult" -> {
                Result before = remembered(rest);
                assertEquals(comparable(before, printed(before)), comparable(last(), printed(last())));
            }
            case "root" -> assumeTrue(shell.uid() == 0, "only root can do that");
            case "save" -> Files.writeString(directory.resolve(rest), last().out());
            case "await" -> await(rest);
            default -> surroundings.prepare(shell, text, words).ifPresent(this::ran);
        }
    }

    private void assertSame(String name) {
        if (name.isEmpty()) {
            assertEquals(previous, last);
        } else {
            assertEquals(whole(remembered(name)), whole(last()));
        }
    }

    /** Repeats the last command until its output has a text. */
    private void await(String text) {
        try {
            Awaitility.await().atMost(Background.PATIENCE).until(() -> {
                ran(shell.plain(typed));
                return shown().contains(text);
            });
        } catch (ConditionTimeoutException e) {
            throw new AssertionError("is never there", e);
        }
    }

    private void addSleeper(String name, String workload) throws IOException {
        if (Files.notExists(directory.resolve(name))) {
            beginFile(name);
        }
        file = directory.resolve(name);
        Files.writeString(file, Files.readString(file) + Shell.sleeper(workload, 600));
    }

    private void kill(WorkloadId id) throws InterruptedException {
        ProcessHandle process = ProcessHandle.of(shell.pid(id)).orElseThrow();
        process.destroyForcibly();
        assertTrue(process.onExit().handle((gone, e) -> true).join());
    }

    private static WorkloadId id(String text) {
        return WorkloadId.parse(text).orElseThrow();
    }

    private String substituted(String text) {
        return VARIABLE.matcher(text).replaceAll(found -> {
            String value = variables.get(found.group(1));
            return Matcher.quoteReplacement(value == null ? found.group() : value);
        });
    }

    /** The words of a command line; quotes hold words together. */
    private static String[] words(String typed) {
        return WORD.matcher(typed)
                .results()
                .map(word -> PART.matcher(word.group())
                        .replaceAll(part -> Matcher.quoteReplacement(
                                part.group(1) != null
                                        ? part.group(1)
                                        : part.group(2) != null ? part.group(2) : part.group(3))))
                .toArray(String[]::new);
    }
}
