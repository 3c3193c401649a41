package io.homeostat.reconcile.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What bin/homeostat hands to the JVM, for which a script stands in. */
class StartScriptTest {
    @TempDir
    Path java;

    @BeforeEach
    void setUp() throws Exception {
        Files.writeString(java.resolve("release"), "JAVA_VERSION=\"25\"\n");
        Path program = Files.createDirectories(java.resolve("bin")).resolve("java");
        Files.writeString(program, "#!/bin/sh\nfor last; do :; done\necho \"$LC_ALL $last\"\n");
        Files.setPosixFilePermissions(program, PosixFilePermissions.fromString("rwxr-xr-x"));
    }

    @Test
    void theJvmRunsInALocaleOfUtf8WhateverTheCallers() throws Exception {
        boolean plain =
                Files.exists(Path.of("/usr/lib/locale/C.utf8")) || Files.exists(Path.of("/usr/lib/locale/C.UTF-8"));
        String utf8 = plain ? "C.UTF-8" : "en_US.UTF-8";
        assertEquals(utf8 + " word\n", start());
        assertEquals(utf8 + " word\n", start("LC_ALL="));
        assertEquals(utf8 + " word\n", start("LC_ALL=POSIX"));
    }

    private String start(String... variables) throws Exception {
        List<String> command =
                new ArrayList<>(List.of("env", "-i", "PATH=/usr/bin:/bin", "HOMEOSTAT_JAVA_HOME=" + java));
        command.addAll(List.of(variables));
        command.addAll(List.of("/bin/sh", Path.of("src/main/dist/bin/homeostat").toString(), "word"));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertEquals(0, process.waitFor(), said);
        return said;
    }
}
