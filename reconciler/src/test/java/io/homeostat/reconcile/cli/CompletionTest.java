package io.homeostat.reconcile.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.StateStore.ToApply;
import io.homeostat.desired.state.sqlite.StateStores;
import io.homeostat.desired.yaml.DocumentReader;
import io.homeostat.reconcile.cli.Shell.Result;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What shells are told; the shells themselves are asked in the tests of the built program. */
class CompletionTest {
    @TempDir
    Path directory;

    private Shell shell;

    @BeforeEach
    void openShell() {
        shell = new Shell(directory);
    }

    @Test
    void commandsAreThoseOfTheHelp() {
        List<String> commands = complete("");
        assertTrue(commands.containsAll(List.of("plan", "apply", "status", "completion")), commands::toString);
        assertFalse(commands.contains("self-train") || commands.contains("complete"), commands::toString);
        assertEquals(List.of("start", "status", "states"), complete("sta"));
    }

    @Test
    void optionsAreThoseOfTheCommandBesideTheGlobalOnes() {
        assertTrue(complete("apply", "--").containsAll(List.of("--file", "--prune", "--timeout", "--state-dir")));
        assertEquals(List.of("--prune"), complete("apply", "--pru"));
        assertEquals(List.of("--allow-empty"), complete("apply", "--al"));
        assertEquals(List.of(), complete("status", "--pru"));
    }

    @Test
    void valuesAreWordsFilesOrDirectories() {
        assertEquals(List.of("text", "json"), complete("plan", "-o", ""));
        assertEquals(List.of("json"), complete("-o", "j"));
        assertEquals(List.of("json"), complete("plan", "--output=j"));
        assertEquals(List.of("debug"), complete("--log-level", "d"));
        assertEquals(ImmutableList.copyOf(Completion.SHELLS), complete("completion", ""));
        assertEquals(List.of("shutdown"), complete("vm-event", "sh"));
        assertEquals(List.of("SIGUSR1", "SIGUSR2"), complete("signal", "process/a", "SIGUS"));
        assertEquals(List.of(), complete("apply", "--timeout", ""));
        for (String[] line : new String[][] {
            {"apply", "-f", ""},
            {"apply", "-f", "a.yaml", "b"},
            {"plan", "--file", ""},
            {"run", "--config", "x"},
            {"run", "--config=x"},
            {"diagnostics", ""},
            {"exec", "task/a", "--", "l"}
        }) {
            assertEquals(":files\n", plain(line), () -> String.join(" ", line));
        }
        assertEquals(":directories\n", plain("--state-dir", ""));
        assertEquals(":directories\n", plain("plan", "--run-dir", "/va"));
    }

    @Test
    void namesAreThoseOfTheStateDirectoryThatWasTyped() throws IOException {
        declareProcesses("a", "b");
        String state = shell.state().toString();
        assertEquals(List.of("process/a", "process/b"), complete("--state-dir", state, "status", ""));
        assertEquals(List.of("process/b"), complete("delete", "--state-dir=" + state, "process/a", "process/b"));
        declare(Shell.sleeper("p", 1).replace("kind: Process", "kind: Plugin"));
        assertEquals(List.of("plugin/p"), complete("watch", "--state-dir", state, ""));
        declare(Shell.sleeper("d", 1).replace("kind: Process", "kind: Driver"));
        assertEquals(List.of("driver/d"), complete("explain", "--state-dir", state, "d"));
        assertEquals(List.of("Driver"), complete("explain", "--state-dir", state, "D"));
        assertEquals(List.of(), complete("vm-event", "--state-dir", state, "startup", ""));
    }

    @Test
    void aScriptIsPrintedWithWhatItIncludes() {
        for (String name : Completion.SHELLS) {
            Result printed = shell.plain("completion", name);
            assertEquals(0, printed.status(), printed.err());
            assertFalse(printed.out().contains("#include"), printed.out());
            assertEquals(!name.equals("fish"), printed.out().contains("\n_homeostat_expand() {\n"), printed.out());
        }
    }

    @Test
    void nothingIsSaidOfWhatIsWrong() throws IOException {
        Files.createDirectory(directory.resolve("state"));
        Files.createDirectory(directory.resolve("state").resolve("homeostat.db"));
        Path nowhere = directory.resolve("nowhere");
        for (String state : List.of(shell.state().toString(), nowhere.toString(), "", "\0")) {
            Result result = shell.plain("complete", "--", "--state-dir", state, "logs", "");
            assertEquals(new Result(0, ":words\n", ""), result);
        }
        assertEquals(new Result(0, "", ""), shell.plain("complete", "--", "frobnicate", ""));
        assertEquals(0, shell.plain("complete").status());
        assertFalse(Files.exists(nowhere));
    }

    private void declareProcesses(String... names) throws IOException {
        declare(Stream.of(names).map(name -> Shell.sleeper(name, 1)).toArray(String[]::new));
    }

    private void declare(String... texts) throws IOException {
        ImmutableList.Builder<ToApply> documents = ImmutableList.builder();
        for (String text : texts) {
            Path file = shell.write("declared.yaml", text);
            Workload workload =
                    DocumentReader.read(List.of(file)).workloads().getFirst().workload();
            documents.add(new ToApply(workload, "/a.yaml"));
        }
        try (StateStore store =
                StateStores.openForWriting(shell.layout(), Clock.systemUTC()).store()) {
            store.apply(documents.build(), ImmutableSet.of("/a.yaml"), false);
        }
    }

    private List<String> complete(String... words) {
        List<String> lines = plain(words).lines().toList();
        return lines.isEmpty()
                ? lines
                : lines.stream()
                        .skip(1)
                        .map(line -> line.replaceFirst("\t.*", ""))
                        .toList();
    }

    private String plain(String... words) {
        List<String> line = new ArrayList<>(List.of("complete", "--"));
        line.addAll(List.of(words));
        Result result = shell.plain(line.toArray(String[]::new));
        assertEquals(0, result.status(), result.err());
        assertEquals("", result.err());
        return result.out();
    }
}
