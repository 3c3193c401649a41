package io.homeostat.reconcile.command.diagnostics;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.reconcile.secrets.SecretMask;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.zip.GZIPInputStream;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveInputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DiagnosticsArchiveTest {
    private final ByteArrayOutputStream out = new ByteArrayOutputStream();

    private DiagnosticsArchive archive(long mostBytes, Duration longest) throws IOException {
        return new DiagnosticsArchive(out, new SecretMask(), Instant.EPOCH, mostBytes, longest);
    }

    private Map<String, String> written() throws IOException {
        Map<String, String> files = new TreeMap<>();
        try (TarArchiveInputStream tar =
                new TarArchiveInputStream(new GZIPInputStream(new ByteArrayInputStream(out.toByteArray())))) {
            for (TarArchiveEntry entry = tar.getNextEntry(); entry != null; entry = tar.getNextEntry()) {
                assertEquals(0600, entry.getMode());
                files.put(entry.getName(), new String(tar.readAllBytes(), StandardCharsets.UTF_8));
            }
        }
        return files;
    }

    @Test
    void whatFailsHangsOrIsTooLargeIsNotedAndKeepsNothingElseOut() throws IOException, InterruptedException {
        // Enough for what does not hang, on a machine that is busy.
        DiagnosticsArchive archive = archive(100, Duration.ofSeconds(5));
        archive.add("fails", () -> {
            throw new IOException("the disk says no to password=hunter2");
        });
        CountDownLatch never = new CountDownLatch(1);
        archive.add("hangs", () -> {
            never.await();
            return "";
        });
        archive.add("large", () -> "x".repeat(101));
        archive.add("good", () -> "here");
        archive.finish();

        Map<String, String> files = written();
        assertEquals("here", files.get("homeostat-diagnostics/good"));
        assertEquals(2, files.size(), files.toString());
        assertEquals("""
                fails: not included: the disk says no to password=(masked)
                hangs: not included: it was not there within 5 s
                large: not included: no room is left for its 101 bytes
                """, files.get("homeostat-diagnostics/notes.txt"));
    }

    @Test
    void onlyTheEndOfMuchOutputIsKeptInWholeLines() {
        String left = "(what stood before this is left out)\n";
        for (int most : new int[] {10, 11, 12, 100}) {
            TailBuffer end = new TailBuffer(most);
            for (int i = 0; i < 100; i++) {
                byte[] line = ("line " + i + "\n").getBytes(StandardCharsets.UTF_8);
                end.write(line, 0, line.length);
            }
            String text = end.text();
            assertTrue(text.startsWith(left + "line "), text);
            assertTrue(text.endsWith("line 99\n"), text);
        }
        TailBuffer all = new TailBuffer(10);
        all.write("0123456789".getBytes(StandardCharsets.UTF_8), 0, 10);
        assertEquals("0123456789", all.text());
        all.write('!');
        assertEquals(left, all.text(), "a part of a line could be a part of a secret");
    }

    @Test
    void aLogThatIsASymlinkIsNotRead(@TempDir Path directory) throws IOException {
        Path secret = Files.writeString(directory.resolve("shadow"), "root:x");
        Path link = Files.createSymbolicLink(directory.resolve("plugin.log"), secret);

        IOException refused = assertThrows(IOException.class, () -> TailBuffer.of(link, 100));
        assertTrue(String.valueOf(refused.getMessage()).contains("regular file"), refused::toString);
        assertEquals("root:x", TailBuffer.of(secret, 6));
        assertFalse(TailBuffer.of(secret, 5).contains("x"));
    }
}
