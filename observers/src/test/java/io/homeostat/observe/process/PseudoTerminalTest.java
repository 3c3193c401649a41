package io.homeostat.observe.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PseudoTerminalTest {
    @TempDir
    private Path directory;

    @Test
    void afterItIsClosedNoOtherFileIsMet() throws IOException {
        PseudoTerminal terminal = PseudoTerminal.open();
        terminal.close();
        Path file = directory.resolve("file");
        // Gets the number that the terminal had.
        try (PinnedFile _ = PinnedFile.create(file)) {
            assertThrows(IOException.class, () -> terminal.write("typed".getBytes(StandardCharsets.UTF_8)));
            terminal.resize(1, 2);
            assertEquals(0, terminal.read(new byte[1]));
            terminal.close();
            assertEquals(0, Files.size(file));
        }
    }

    @Test
    void whatIsTypedIsRead() throws Exception {
        try (PseudoTerminal terminal = PseudoTerminal.open()) {
            Process reader = new ProcessBuilder("head", "-n", "1")
                    .redirectInput(new File(terminal.device()))
                    .start();
            terminal.write("typed\n".getBytes(StandardCharsets.UTF_8));
            assertEquals("typed\n", new String(reader.getInputStream().readAllBytes(), StandardCharsets.UTF_8));
        }
    }
}
