package io.homeostat.reconcile.command.environment;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.collect.ImmutableMap;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.yaml.AgentConfigReader;
import io.homeostat.reconcile.command.environment.Environment.Interrupts;
import io.homeostat.reconcile.command.environment.GlobalOptions.OutputFormat;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Clock;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class UserDirectoriesTest {
    private static final int NOBODY = 65534;

    /** A user that no test machine has, so that nothing of it is in /tmp. */
    private static final int STRANGER = 3_999_999;

    @TempDir
    Path directory;

    @Test
    void rootHasTheSystemsDirectories() {
        Layout layout = layout(0, Map.of("XDG_STATE_HOME", "/x", "HOME", "/root"));
        assertEquals(Path.of("/var/lib/homeostat"), layout.stateDir());
        assertEquals(Path.of("/run/homeostat"), layout.runDir());
    }

    @Test
    void othersHaveTheirXdgDirectories() {
        Layout layout =
                layout(NOBODY, Map.of("XDG_STATE_HOME", "/x/state", "XDG_RUNTIME_DIR", "/x/run", "HOME", "/home/n"));
        assertEquals(Path.of("/x/state/homeostat"), layout.stateDir());
        assertEquals(Path.of("/x/run/homeostat"), layout.runDir());
    }

    @Test
    void withoutXdgStateIsBelowHomeAndSocketsInTmp() {
        Layout layout = layout(STRANGER, Map.of("HOME", "/home/n", "XDG_STATE_HOME", "relative"));
        assertEquals(Path.of("/home/n/.local/state/homeostat"), layout.stateDir());
        assertEquals(Path.of("/tmp/homeostat-" + STRANGER), layout.runDir());
    }

    @Test
    void withoutAnyPlaceTheRemedyIsNamed() {
        CommandFailure failure =
                assertThrows(CommandFailure.class, () -> layout(NOBODY, Map.of("XDG_RUNTIME_DIR", "/x/run")));
        assertTrue(String.valueOf(failure.getMessage()).contains("--state-dir"), failure.getMessage());
    }

    @Test
    void optionsWinAndAreRelativeToWhereTheUserIs() {
        GlobalOptions options =
                new GlobalOptions(OutputFormat.TEXT, Optional.of("a/../b"), Optional.of("/c"), Optional.empty(), false);
        Layout layout = new UserDirectories(environment(0, Map.of())).layout(options, AgentConfigReader.defaults());
        assertEquals(directory.resolve("b"), layout.stateDir());
        assertEquals(Path.of("/c"), layout.runDir());
    }

    @Test
    void aVariableNamesTheConfigurationForWhoeverDoesNotNameIt() {
        assertEquals(
                new ConfigFile(Path.of("/etc/homeostat/agent.yaml"), false, true),
                new UserDirectories(environment(0, Map.of("HOMEOSTAT_CONFIG", ""))).configFile());
        assertEquals(
                new ConfigFile(directory.resolve("other.yaml"), true, true),
                new UserDirectories(environment(0, Map.of("HOMEOSTAT_CONFIG", "x/../other.yaml"))).configFile());
    }

    @Test
    void whereThereIsNoConfigurationItIsAsTheDefaultsSay() {
        GlobalOptions options =
                new GlobalOptions(OutputFormat.TEXT, Optional.empty(), Optional.of("/c"), Optional.empty(), false);
        UserDirectories directories = new UserDirectories(environment(STRANGER, Map.of("HOME", "/home/n")));
        assertEquals(directories.layout(options, AgentConfigReader.defaults()), directories.layout(options));
    }

    @Test
    void aSharedRunDirectoryOfSomebodyElseIsRefused() throws IOException {
        long uid = ((Number) Files.getAttribute(directory, "unix:uid")).longValue();
        // Of this JVM: two builds of this machine do not have the same.
        int owner = STRANGER + Math.toIntExact(ProcessHandle.current().pid());
        Path foreign = Path.of("/tmp/homeostat-" + owner);
        Files.createDirectory(
                foreign, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        try {
            assertTrue(uid != owner);
            CommandFailure failure = assertThrows(CommandFailure.class, () -> layout(owner, Map.of("HOME", "/home/n")));
            assertTrue(String.valueOf(failure.getMessage()).contains("--run-dir"), failure.getMessage());
        } finally {
            Files.delete(foreign);
        }
    }

    @Test
    void theRunDirectoryIsForNobodyElse() throws IOException {
        Path run = directory.resolve("x").resolve("run");
        new UserDirectories(environment(0, Map.of())).createRunDirectory(run);
        assertEquals("rwx------", PosixFilePermissions.toString(Files.getPosixFilePermissions(run)));
    }

    @Test
    void whatIsInTheWayOfTheRunDirectoryIsNamed() throws IOException {
        Path file = Files.createFile(directory.resolve("file"));
        CommandFailure failure = assertThrows(
                CommandFailure.class, () -> new UserDirectories(environment(0, Map.of())).createRunDirectory(file));
        assertTrue(String.valueOf(failure.getMessage()).contains(file.toString()), failure.getMessage());
    }

    @Test
    void theInstanceIsTheMachinesIdWhenItHasOne() throws IOException {
        Path file = directory.resolve("machine-id");
        Files.writeString(file, "3d1219c7c4c5404aaa1f6d2a48adfda4\n");
        assertEquals("3d1219c7c4c5404aaa1f6d2a48adfda4", UserDirectories.instanceId(file));
        Files.writeString(file, "uninitialized\n");
        assertEquals("local", UserDirectories.instanceId(file));
        Files.writeString(file, "../../../etc\n");
        assertEquals("local", UserDirectories.instanceId(file));
        Files.delete(file);
        assertEquals("local", UserDirectories.instanceId(file));
    }

    private Layout layout(long uid, Map<String, String> variables) {
        return new UserDirectories(environment(uid, variables))
                .layout(
                        new GlobalOptions(
                                OutputFormat.TEXT, Optional.empty(), Optional.empty(), Optional.empty(), false),
                        AgentConfigReader.defaults());
    }

    private Environment environment(long uid, Map<String, String> variables) {
        PrintStream nowhere = new PrintStream(OutputStream.nullOutputStream(), false, StandardCharsets.UTF_8);
        return new Environment(
                ImmutableMap.copyOf(variables),
                directory,
                uid,
                InputStream.nullInputStream(),
                nowhere,
                nowhere,
                false,
                false,
                Clock.systemUTC(),
                Ticker.systemTicker(),
                DocumentFormat.STANDARD,
                Interrupts.none());
    }
}
