package io.homeostat.reconcile.command.diagnostics;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import io.homeostat.controlplane.FreePorts;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.yaml.AgentConfigReader;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.reconcile.command.diagnostics.Doctor.Finding;
import io.homeostat.reconcile.command.diagnostics.Doctor.Finding.Level;
import io.homeostat.reconcile.command.environment.AgentFile;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ListenChecksTest {
    private static final long PID = ProcessHandle.current().pid();

    @TempDir
    private Path directory;

    private Layout layout() {
        return new Layout(directory, directory, "m");
    }

    private ImmutableList<Finding> look(String metrics, String page) throws IOException {
        Path file = directory.resolve("agent.yaml");
        Files.writeString(file, "metrics: {listen: \"" + metrics + "\"}\nui: {listen: \"" + page + "\"}\n");
        return ListenChecks.look(
                Objects.requireNonNull(AgentConfigReader.read(file).config()), layout());
    }

    private Finding page(int port) throws IOException {
        return look("", "127.0.0.1:" + port).getFirst();
    }

    private static ServerSocket listener() throws IOException {
        return new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
    }

    /** Has this process taken for the agent. */
    private void runAgent() throws IOException {
        AgentFile.ofThisProcess(directory.resolve("agent.sock"), "1", new ProcFs())
                .write(layout());
    }

    @Test
    void anAddressThatNobodyHasIsFreeAsLongAsNoAgentRuns() throws IOException {
        int port = FreePorts.take();

        assertEquals(Finding.ok("page", "127.0.0.1:" + port + " is free"), page(port));

        runAgent();
        Finding unserved = page(port);
        assertEquals(Level.WARN, unserved.level());
        assertEquals("the agent (pid " + PID + ") serves nothing at 127.0.0.1:" + port, unserved.message());
        assertTrue(unserved.remedy().contains("kill -HUP " + PID), unserved.remedy());
    }

    @Test
    void anAddressThatIsTakenIsWellIfItIsTheAgentThatHasIt() throws IOException {
        try (ServerSocket listener = listener()) {
            Finding taken = page(listener.getLocalPort());
            assertEquals(Level.WARN, taken.level());
            assertTrue(
                    taken.message()
                            .matches("127\\.0\\.0\\.1:[0-9]+ is taken by process " + PID
                                    + " \\(.+\\); the agent goes on without"),
                    taken.message());

            runAgent();
            assertEquals(
                    Finding.ok("page", "the agent (pid " + PID + ") serves at 127.0.0.1:" + listener.getLocalPort()),
                    page(listener.getLocalPort()));
        }
    }

    @Test
    void anAddressThatThisHostHasNotIsAWarning() throws IOException {
        Finding elsewhere = look("192.0.2.1:9464", "").getFirst();

        assertEquals(Level.WARN, elsewhere.level());
        assertTrue(elsewhere.message().startsWith("this user can't listen at 192.0.2.1:9464: "), elsewhere.message());
        assertEquals("choose another address or port in agent.yaml", elsewhere.remedy());
        // Longer than a name can be, so nobody is asked for it.
        String nowhere = "x".repeat(64) + ".invalid";
        Finding unknown = look(nowhere + ":9464", "").getFirst();
        assertTrue(unknown.message().startsWith(nowhere + " is not known here; "), unknown::message);
    }

    @Test
    void oneAddressServesOneOfBoth() throws IOException {
        String listen = "127.0.0.1:" + FreePorts.take();
        Finding page = look(listen, listen).getLast();
        assertEquals(Level.WARN, page.level());
        assertTrue(page.message().contains("as metrics are"), page.message());
    }

    @Test
    void aSocketNeedsAPathThatOneCanHave() throws IOException {
        String longest = directory + "/"
                + "x".repeat(Layout.MAX_SOCKET_PATH - directory.toString().length() - 1);
        assertEquals(Level.OK, look("unix:" + longest, "").getFirst().level(), longest);
        for (String path : List.of(directory.toString(), longest + "x")) {
            assertEquals(Level.WARN, look("unix:" + path, "").getFirst().level(), path);
        }
    }

    @Test
    void bothSettingsAreLookedAtUnlessTheyAreEmpty() throws IOException {
        assertEquals(ImmutableList.of(), look("", ""));
        assertEquals(
                ImmutableList.of("metrics", "page"),
                look("127.0.0.1:" + FreePorts.take(), "127.0.0.1:0").stream()
                        .map(Finding::check)
                        .collect(ImmutableList.toImmutableList()));
    }

    @Test
    void aSocketNeedsADirectory() throws IOException {
        assertEquals(
                Level.OK, look("unix:" + directory + "/m.sock", "").getFirst().level());
        assertEquals(
                Level.WARN,
                look("unix:" + directory + "/none/m.sock", "").getFirst().level());
        Files.createFile(directory.resolve("file"));
        assertEquals(
                Level.WARN,
                look("unix:" + directory + "/file/m.sock", "").getFirst().level());
    }
}
