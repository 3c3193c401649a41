package io.homeostat.reconcile.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.reconcile.cli.Shell.Result;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PageAddressTest {
    private static final String URL = "http://127.0.0.1:9465/#token=abc";

    @TempDir
    Path directory;

    @Test
    void theAddressIsThatWhichTheAgentHasWrittenDown() throws IOException {
        Shell shell = new Shell(directory);
        try (TestAgent _ = TestAgent.start(shell)) {
            Files.writeString(shell.layout().uiAddress(), URL + "\n");

            assertEquals(new Result(0, URL + "\n", ""), shell.run("ui"));
            assertEquals(
                    "{\"formatVersion\":\"1.0\",\"url\":\"" + URL + "\"}\n",
                    shell.run("ui", "-o", "json").out());
        }
    }

    @Test
    void anAddressThatABrowserOpensAndSoUsesUpIsNotPrinted() throws IOException {
        Shell shell = withBrowser("printf %s \"$1\" > " + directory.resolve("opened"));
        try (TestAgent _ = TestAgent.start(shell)) {
            Files.writeString(shell.layout().uiAddress(), URL + "\n");

            assertEquals(new Result(0, "", ""), shell.run("ui", "--open"));
            assertEquals(shell.layout().uiEntrance().toString(), Files.readString(directory.resolve("opened")));
            assertEquals(new Result(0, "", ""), shell.run("ui", "--open", "-o", "json"));
        }
    }

    @Test
    void anAddressThatNoBrowserOpensIsPrintedWithTheReason() throws IOException {
        for (Shell shell : List.of(
                withBrowser("exit 3"),
                new Shell(directory)
                        .with(Map.of("PATH", directory.resolve("empty").toString())))) {
            try (TestAgent _ = TestAgent.start(shell)) {
                Files.writeString(shell.layout().uiAddress(), URL + "\n");

                Result result = shell.run("ui", "--open");
                assertEquals(1, result.status());
                assertEquals(URL + "\n", result.out());
                assertTrue(result.err().contains("open the address in a browser yourself"), result.err());
            }
        }
    }

    private Shell withBrowser(String script) throws IOException {
        Path programs = Files.createDirectories(directory.resolve("programs"));
        Path browser = programs.resolve("xdg-open");
        Files.writeString(browser, "#!/bin/sh\n" + script + "\n");
        Files.setPosixFilePermissions(browser, PosixFilePermissions.fromString("rwx------"));
        return new Shell(directory).with(Map.of("PATH", programs.toString()));
    }

    @Test
    void anAgentWithoutPageAndNoAgentAtAllAreToldApartWithWhatToWrite() throws IOException {
        Shell shell = new Shell(directory);
        Result none = shell.run("ui");
        assertEquals(1, none.status());
        assertTrue(none.err().contains("no agent runs on "), none.err());
        assertTrue(none.err().contains("serves the page; write ui: {listen: \"127.0.0.1:9465\"} in "), none.err());
        assertTrue(none.err().contains("start it: homeostat run"), none.err());
        Path config = shell.write("agent.yaml", "ui: {listen: \"127.0.0.1:9465\"}\n");
        Result configured = new Shell(directory)
                .with(Map.of("HOMEOSTAT_CONFIG", config.toString()))
                .run("ui");
        assertTrue(configured.err().contains("serves the page; start it: homeostat run"), configured.err());
        try (TestAgent _ = TestAgent.start(shell)) {
            Result off = shell.run("ui");
            assertEquals(1, off.status());
            assertTrue(
                    off.err()
                            .contains(
                                    "the agent (pid " + ProcessHandle.current().pid()
                                            + ") serves no page; write ui: {listen: \"127.0.0.1:9465\"} in "),
                    off.err());
            assertTrue(off.err().contains("kill -HUP " + ProcessHandle.current().pid()), off.err());
        }
    }
}
