package io.homeostat.reconcile.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.reconcile.cli.Shell.Result;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.GZIPInputStream;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveInputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The archive for whoever looks for a fault, where it is not a file; stories tell what it contains. */
class DiagnosticsTest {
    @TempDir
    Path directory;

    @Test
    void aDashIsStandardOutput() throws IOException {
        Shell shell = new Shell(directory);
        ByteArrayOutputStream out = new ByteArrayOutputStream();

        Result result = shell.into(out, shell.withDirectories("diagnostics", "-"));

        assertEquals(0, result.status(), result.err());
        List<String> names = new ArrayList<>();
        try (TarArchiveInputStream tar =
                new TarArchiveInputStream(new GZIPInputStream(new ByteArrayInputStream(out.toByteArray())))) {
            for (TarArchiveEntry entry = tar.getNextEntry(); entry != null; entry = tar.getNextEntry()) {
                names.add(entry.getName());
            }
        }
        assertTrue(names.contains("homeostat-diagnostics/version.txt"), names::toString);
        assertFalse(Files.exists(shell.state()), "it only looks");
    }
}
