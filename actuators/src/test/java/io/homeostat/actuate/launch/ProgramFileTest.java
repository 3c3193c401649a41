package io.homeostat.actuate.launch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is said of files that the kernel would refuse to execute. */
class ProgramFileTest {
    private static final int MACHINE = 18;

    @TempDir
    Path directory;

    @Test
    void nothingIsSaidOfWhatCanBeExecuted() throws IOException {
        assertEquals(Optional.empty(), ProgramFile.problem(Path.of("/bin/sh")));
        assertEquals(Optional.empty(), problem("#!/bin/sh -e\nexit 0\n"));
        assertEquals(Optional.empty(), problem("#! /usr/bin/env sh\n"));
        assertEquals(Optional.empty(), problem("echo a script without a first line for the kernel\n"));
        // The kernel reads 256 bytes, and cuts off what the interpreter is given.
        assertEquals(Optional.empty(), problem("#!/bin/sh " + "x".repeat(300) + "\n"));
        assertEquals(Optional.empty(), problem("#!/bin/sh\0\n"));
    }

    @Test
    void aProgramForAnotherProcessorIsNamed() throws IOException {
        byte[] program = Files.readAllBytes(Path.of("/bin/sh"));
        ByteBuffer header = ByteBuffer.wrap(program).order(ByteOrder.LITTLE_ENDIAN);
        header.putShort(MACHINE, (short) 22);

        String said = problem(program).orElseThrow();

        assertTrue(
                said.matches("is a program for s390x, and this machine is \\w+ \\(Exec format error\\); install .*"),
                said);
    }

    @Test
    void aFifoThatTakesItsPlaceIsNotWaitedFor() throws Exception {
        Path fifo = directory.resolve("fifo");
        assertEquals(0, new ProcessBuilder("mkfifo", fifo.toString()).start().waitFor());

        assertTimeoutPreemptively(
                Duration.ofSeconds(30), () -> assertEquals(Optional.empty(), ProgramFile.problem(fifo)));
    }

    @Test
    void anInterpreterThatIsMissingIsNamed() throws IOException {
        assertEquals(
                "has a bad interpreter: /no/such/python, named in its first line, does not exist (No such file or"
                        + " directory); install it, or another build of the program",
                problem("#!/no/such/python -u\n").orElseThrow());
        assertTrue(problem("#!/bin/sh\r\necho\r\n").orElseThrow().contains("carriage return"));
        assertTrue(problem("#!\n").orElseThrow().contains("names none"));
        assertTrue(problem("#!/" + "x".repeat(300) + "\n").orElseThrow().contains("names none"));
        assertTrue(problem("#!/etc/passwd\n").orElseThrow().contains("/etc/passwd, named in its first line, can't be"));
    }

    @Test
    void aLoaderThatIsMissingIsNamed() throws IOException {
        byte[] name = "/no/such/ld.so\0".getBytes(StandardCharsets.US_ASCII);
        ByteBuffer program = ByteBuffer.allocate(64 + 56 + name.length).order(ByteOrder.LITTLE_ENDIAN);
        byte[] ours = Files.readAllBytes(Path.of("/bin/sh"));
        program.put(ours, 0, 64);
        program.putLong(32, 64).putShort(54, (short) 56).putShort(56, (short) 1);
        program.putInt(64, 3).putLong(64 + 8, 64 + 56).putLong(64 + 32, name.length);
        program.put(64 + 56, name);

        String said = problem(program.array()).orElseThrow();
        assertTrue(said.startsWith("has a bad interpreter: /no/such/ld.so, the loader that it was linked for, "), said);
    }

    @Test
    void bytesThatAreNoProgramAreNoScriptEither() throws IOException {
        String said = "is not a program: it has no #! line and no whole ELF header (Exec format error); correct"
                + " spec.entryPoint";
        assertEquals(Optional.of(said), problem(new byte[] {1, 2, 0, 4, 5}));
        assertEquals(Optional.of(said), problem("garbage\u007fELFxxx"));
        assertEquals(Optional.of(said), problem(new byte[] {0x7f, 'E', 'L', 'F'}));
        assertEquals(Optional.empty(), problem("# Colours: \u001b[31m\tüé\r\n"));
    }

    @Test
    void anEmptyFileIsNoProgram() throws IOException {
        assertEquals(Optional.of("is empty; install the program again or correct spec.entryPoint"), problem(""));
    }

    @Test
    void whatMakesNoSenseIsLeftToTheKernel() throws IOException {
        assertEquals(Optional.empty(), ProgramFile.problem(directory));
        assertEquals(Optional.empty(), ProgramFile.problem(directory.resolve("missing")));
        assertEquals(
                Optional.empty(),
                problem(new byte[] {'#', '!', '/', (byte) 0xff, '\n'})
                        .filter(said -> !said.contains("bad interpreter")));
        byte[] ours = Files.readAllBytes(Path.of("/bin/sh"));
        Random random = new Random(1);
        for (int i = 0; i < 1000; i++) {
            byte[] damaged = Arrays.copyOf(ours, 256);
            for (int j = 0; j < 20; j++) {
                // What is a program for this machine stays one; its table of segments is anything.
                damaged[MACHINE + 2 + random.nextInt(damaged.length - MACHINE - 2)] = (byte) random.nextInt();
            }
            assertTrue(problem(damaged).orElse("has a bad interpreter").contains("has a bad interpreter"));
        }
    }

    private Optional<String> problem(String text) throws IOException {
        return problem(text.getBytes(StandardCharsets.UTF_8));
    }

    private Optional<String> problem(byte[] content) throws IOException {
        return ProgramFile.problem(Files.write(directory.resolve("program"), content));
    }
}
