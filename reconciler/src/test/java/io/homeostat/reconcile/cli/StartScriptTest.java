package io.homeostat.reconcile.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
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
    private static final Path DIST = Path.of("src/main/dist");

    @TempDir
    Path directory;

    private Path java;

    @BeforeEach
    void setUp() throws Exception {
        java = Files.createDirectory(directory.resolve("java"));
        Files.writeString(java.resolve("release"), "JAVA_VERSION=\"25\"\n");
        Path program = Files.createDirectories(java.resolve("bin")).resolve("java");
        Files.writeString(program, "#!/bin/sh\nprintf '%s\\n' \"$LC_ALL\" \"$@\"\n");
        Files.setPosixFilePermissions(program, PosixFilePermissions.fromString("rwxr-xr-x"));
    }

    @Test
    void theJvmRunsInALocaleOfUtf8WhateverTheCallers() throws Exception {
        boolean plain =
                Files.exists(Path.of("/usr/lib/locale/C.utf8")) || Files.exists(Path.of("/usr/lib/locale/C.UTF-8"));
        String utf8 = plain ? "C.UTF-8" : "en_US.UTF-8";
        for (String[] variables : new String[][] {{}, {"LC_ALL="}, {"LC_ALL=POSIX"}}) {
            List<String> said = start(DIST, "word", variables);
            assertEquals(utf8, said.getFirst());
            assertEquals("word", said.getLast());
        }
    }

    @Test
    void whatIsMappedStaysWhereItIsWhenItsOwnerCanNotMoveIt() throws Exception {
        Path home = installation();
        // As on a read-only file system, which takes more than a test may do: no directory can be made.
        Files.createFile(home.resolve("mapped"));

        for (String command : new String[] {"run", "version"}) {
            List<String> said = start(home, command);
            assertTrue(said.contains("-XX:AOTCache=" + home.resolve("homeostat.aot")), said::toString);
            assertTrue(said.contains("-Dorg.sqlite.lib.name=native/libsqlitejdbc.so"), said::toString);
        }
    }

    @Test
    void whatSomebodyElseMayOverwriteIsMappedOnlyForAMoment() throws Exception {
        Path home = installation();
        assumeTrue(Files.getAttribute(home, "unix:uid").equals(0), "takes root");
        Files.setAttribute(home, "unix:uid", 1);

        assertFalse(start(home, "run").toString().contains("AOTCache"));
        assertTrue(start(home, "version").toString().contains("AOTCache"));
    }

    /** Else all of it is written to, and the memory of this process alone. */
    @Test
    void theCacheIsMappedWhereItsAddressesSayAlsoByAJvmThatDoesNotKnowHow() throws Exception {
        List<String> said = start(installation(), "run");
        assertTrue(said.contains("-XX:ArchiveRelocationMode=0"), said::toString);
        assertTrue(
                said.indexOf("-XX:+IgnoreUnrecognizedVMOptions") < said.indexOf("-XX:ArchiveRelocationMode=0"),
                said::toString);
    }

    /** Else a machine to which a disk moves, and whose processor lacks some of them, ends at the first one. */
    @Test
    void theJvmIsToldToKeepMachineCodeOutOfTheCache() throws Exception {
        List<String> said = start(installation(), "run");
        assertTrue(said.contains("-XX:-AOTAdapterCaching") && said.contains("-XX:-AOTStubCaching"), said::toString);
    }

    @Test
    void onlyTheAgentGivesBackWhatItDoesNotNeed() throws Exception {
        assertTrue(start(DIST, "run").toString().contains("TrimNativeHeapInterval"));
        assertFalse(start(DIST, "status").toString().contains("TrimNativeHeapInterval"));
    }

    /** A command that works for long works its way through much once, which is slow until it is compiled. */
    @Test
    void onlyTheAgentWaitsLongBeforeItCompiles() throws Exception {
        assertTrue(start(DIST, "run").toString().contains("CompileThresholdScaling"));
        assertFalse(start(DIST, "plan").toString().contains("CompileThresholdScaling"));
    }

    /** Without these each of them has code generated that frees buffers, and a pool made that is never used: 70 ms. */
    @Test
    void nothingIsPreparedForBuffersThatNobodyTakes() throws Exception {
        for (String command : new String[] {"run", "status"}) {
            List<String> said = start(DIST, command);
            assertTrue(said.contains("-Dio.netty.noUnsafe=false"), said::toString);
            assertTrue(said.contains("-Dsun.misc.unsafe.memory.access=allow"), said::toString);
            assertTrue(said.contains("-Dio.netty.allocator.type=unpooled"), said::toString);
        }
    }

    @Test
    void itsOwnRuntimeIsUsedUnlessAnotherOneIsWanted() throws Exception {
        Path home = installation();
        Path own = Files.createDirectories(home.resolve("runtime/bin")).resolve("java");
        Files.writeString(own, "#!/bin/sh\necho own\n");
        Files.setPosixFilePermissions(own, PosixFilePermissions.fromString("rwxr-xr-x"));

        assertEquals("own", start(home, "version", "HOMEOSTAT_JAVA_HOME=").getLast());
        assertEquals("version", start(home, "version").getLast());
    }

    private Path installation() throws IOException {
        Path home = Files.createDirectory(directory.toRealPath().resolve("home"));
        for (String file : new String[] {"bin/homeostat", "share/find-java.sh"}) {
            Files.createDirectories(home.resolve(file).getParent());
            Files.copy(DIST.resolve(file), home.resolve(file));
        }
        Files.writeString(home.resolve("homeostat.aot"), "classes");
        Files.writeString(Files.createDirectory(home.resolve("native")).resolve("libsqlitejdbc.so"), "library");
        return home;
    }

    /** The locale, then the arguments. */
    private List<String> start(Path home, String word, String... variables) throws Exception {
        List<String> command =
                new ArrayList<>(List.of("env", "-i", "PATH=/usr/bin:/bin", "HOMEOSTAT_JAVA_HOME=" + java));
        command.addAll(List.of(variables));
        command.addAll(List.of("/bin/sh", home.resolve("bin/homeostat").toString(), word));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertEquals(0, process.waitFor(), said);
        return said.lines().toList();
    }
}
