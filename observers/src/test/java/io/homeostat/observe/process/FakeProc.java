package io.homeostat.observe.process;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.common.io.MoreFiles;
import io.homeostat.observe.Pace;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;

/** A directory that looks like /proc of a machine with only the processes that a test has put there. */
public final class FakeProc {
    public static final String BOOT = "boot-now";

    final Path root;
    public final ProcFs procFs;

    public FakeProc(Path root) throws IOException {
        this(root, ProcessMemory.PATIENCE);
    }

    /** @param patience with processes that are {@link #silent} */
    FakeProc(Path root, Duration patience) throws IOException {
        this.root = root;
        this.procFs = new ProcFs(root, new Pace(), false, new ProcessMemory(patience));
        write("sys/kernel/random/boot_id", BOOT + "\n");
        write("stat", "cpu  1 2 3\nbtime 1700000000\nprocesses 5\n");
        uptime("1000.00");
    }

    public FakeProc uptime(String seconds) throws IOException {
        write("uptime", seconds + " 5.00\n");
        return this;
    }

    /** A process of this session that was started then, with this environment. */
    public FakeProc process(long pid, long parent, long session, long startTicks, String... environment)
            throws IOException {
        return process(pid, "S", parent, session, 1, startTicks, environment);
    }

    public FakeProc process(
            long pid, String state, long parent, long session, int threads, long startTicks, String... environment)
            throws IOException {
        line(pid, line(pid, "program", state, parent, session, threads, startTicks));
        write(pid + "/environ", environment.length == 0 ? "" : String.join("\0", environment) + "\0");
        return ids(pid, Account.ourUid(), Account.ourUid());
    }

    /** Whose a process is that is there; without this, ours. */
    public FakeProc ids(long pid, int real, int effective) throws IOException {
        write(
                pid + "/status",
                "Name:\tprogram\nUid:\t" + real + "\t" + effective + "\t" + effective + "\t" + effective + "\n");
        return this;
    }

    public FakeProc line(long pid, String line) throws IOException {
        write(pid + "/stat", line + "\n");
        return this;
    }

    public static String line(
            long pid, String name, String state, long parent, long session, int threads, long startTicks) {
        return pid + " (" + name + ") " + state + " " + parent + " " + session + " " + session
                + " 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 " + threads + " 0 " + startTicks
                + " 2654208 169 18446744073709551615";
    }

    public FakeProc end(long pid) throws IOException {
        MoreFiles.deleteRecursively(root.resolve(Long.toString(pid)));
        return this;
    }

    /** Whoever reads its environment waits, as where a process keeps its memory. */
    FakeProc silent(long pid) throws IOException, InterruptedException {
        Path environment = root.resolve(pid + "/environ");
        Files.deleteIfExists(environment);
        assertEquals(
                0, new ProcessBuilder("mkfifo", environment.toString()).start().waitFor());
        return this;
    }

    /** Makes a file one that can't be read, by root neither. */
    public FakeProc unreadable(String name) throws IOException {
        Path file = root.resolve(name);
        Files.deleteIfExists(file);
        Files.createDirectories(file);
        return this;
    }

    /** Makes a file go on after its text for gigabytes. */
    public FakeProc endless(String name) throws IOException {
        try (RandomAccessFile file = new RandomAccessFile(root.resolve(name).toFile(), "rw")) {
            file.setLength(3L << 30);
        }
        return this;
    }

    public void write(String name, String text) throws IOException {
        Path file = root.resolve(name);
        Files.createDirectories(file.getParent());
        Files.writeString(file, text, StandardCharsets.ISO_8859_1);
    }
}
