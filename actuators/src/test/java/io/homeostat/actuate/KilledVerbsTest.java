package io.homeostat.actuate;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.homeostat.actuate.fetch.Downloader;
import io.homeostat.actuate.fetch.Downloader.DownloadLimits;
import io.homeostat.actuate.fetch.Downloader.Progress;
import io.homeostat.actuate.fetch.RawServer;
import io.homeostat.actuate.install.Activator;
import io.homeostat.actuate.unpack.TarBuilder;
import io.homeostat.actuate.unpack.UnpackLimits;
import io.homeostat.actuate.unpack.Unpacker;
import io.homeostat.desired.model.Source;
import io.homeostat.observe.install.InstallationObserver;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.SortedMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A program that downloads, unpacks and activates is killed (SIGKILL) at one moment after another; this one takes over. */
final class KilledVerbsTest {
    private static final int KILLS = Boolean.getBoolean("nightly") ? 6 : 3;
    private static final int FILES = 300;

    @TempDir
    private Path temp;

    private byte[] archive = new byte[0];
    private String key = "";
    private volatile CountDownLatch halfSent = new CountDownLatch(1);
    private volatile CountDownLatch mayGoOn = new CountDownLatch(0);

    @BeforeEach
    void setUp() {
        Random random = new Random(5);
        TarBuilder tar = new TarBuilder().program("run");
        for (int i = 0; i < FILES; i++) {
            byte[] content = new byte[10_000 + random.nextInt(10_000)];
            random.nextBytes(content);
            tar.file("data/" + i, 0644, content);
        }
        archive = tar.symlink("link", "data").tarGz();
        key = Machine.sha256(archive);
    }

    @Test
    void whoeverTakesOverFinishesWhatWasBegun() throws Exception {
        try (RawServer server = new RawServer(this::answer)) {
            Machine untouched = Machine.in(Files.createDirectory(temp.resolve("untouched")));
            converge(untouched, server.url());
            SortedMap<String, String> expected = comparable(untouched);

            long start = System.nanoTime();
            assertEquals(
                    0,
                    run(
                            Machine.in(Files.createDirectory(temp.resolve("whole"))),
                            server.url(),
                            child -> child.waitFor(2, TimeUnit.MINUTES)));
            long whole = System.nanoTime() - start;

            for (int kill = 0; kill <= KILLS; kill++) {
                Machine machine = Machine.in(Files.createDirectory(temp.resolve("kill" + kill)));
                if (kill == KILLS) {
                    int _ = runUntilHalfIsSent(machine, server.url());
                } else {
                    long nanos = whole * kill / KILLS;
                    int _ = run(machine, server.url(), child -> child.waitFor(nanos, TimeUnit.NANOSECONDS));
                }
                if (Files.exists(machine.layout().archive(key))) {
                    assertEquals(
                            key,
                            Machine.sha256(Files.readAllBytes(machine.layout().archive(key))));
                }
                if (!machine.installations(Machine.ID).isEmpty()) {
                    assertEquals(FILES, list(machine.install("greeter_1").resolve("data")));
                }

                converge(machine, server.url());

                assertEquals(expected, comparable(machine), "killed at moment " + kill);
                InstallationObserver observer = new InstallationObserver(machine.layout());
                assertEquals(observer.installations(Machine.ID), observer.examined(Machine.ID), "damaged");
            }
        }
    }

    /** Without the notes of when each file was made. */
    private static SortedMap<String, String> comparable(Machine machine) throws IOException {
        SortedMap<String, String> all = machine.everything();
        all.replaceAll((path, what) -> path.contains("/.homeostat.json") ? "a note" : what);
        return all;
    }

    private static long list(Path directory) throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            return files.count();
        }
    }

    /** Knows ranges, so that the other can go on. */
    private void answer(OutputStream out, String request) throws IOException, InterruptedException {
        int from = 0;
        for (String line : request.split("\n", -1)) {
            if (line.startsWith("Range: bytes=")) {
                from = Integer.parseInt(line.substring("Range: bytes=".length(), line.length() - 1));
            }
        }
        String head = from == 0
                ? "HTTP/1.1 200 OK\r\n"
                : "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes " + from + "-" + (archive.length - 1) + "/"
                        + archive.length + "\r\n";
        out.write((head + "ETag: \"v1\"\r\nContent-Length: " + (archive.length - from) + "\r\n\r\n").getBytes(UTF_8));
        for (int at = from; at < archive.length; at += 400_000) {
            if (at >= archive.length / 2) {
                halfSent.countDown();
                mayGoOn.await();
            }
            out.write(archive, at, Math.min(400_000, archive.length - at));
            out.flush();
        }
    }

    /** When a JVM is killed. */
    private interface Moment {
        boolean await(Process child) throws InterruptedException;
    }

    /** The server holds back the second half for as long as the other JVM lives. */
    private int runUntilHalfIsSent(Machine machine, String url) throws IOException, InterruptedException {
        halfSent = new CountDownLatch(1);
        mayGoOn = new CountDownLatch(1);
        try {
            return run(machine, url, child -> halfSent.await(2, TimeUnit.MINUTES));
        } finally {
            mayGoOn.countDown();
        }
    }

    /** Runs the verbs in another JVM, which is killed at some moment after it is ready. */
    private int run(Machine machine, String url, Moment moment) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                System.getProperty("java.class.path"),
                KilledVerbsTest.class.getName(),
                machine.root().toString(),
                url,
                key));
        Process child = new ProcessBuilder(command).redirectErrorStream(true).start();
        try (BufferedReader out = new BufferedReader(new InputStreamReader(child.getInputStream(), UTF_8))) {
            assertEquals("ready", out.readLine());
            boolean _ = moment.await(child);
        } finally {
            child.destroyForcibly();
        }
        return child.waitFor();
    }

    /** What the other JVM runs. */
    public static void main(String[] arguments) throws Exception {
        System.out.println("ready");
        converge(Machine.in(Path.of(arguments[0])), arguments[1], arguments[2]);
    }

    private void converge(Machine machine, String url) throws Exception {
        converge(machine, url, key);
    }

    private static void converge(Machine machine, String url, String key) throws Exception {
        Source source = new Source(url, key, Duration.ofSeconds(60), 3);
        try (Downloader downloader = new Downloader(machine.layout(), () -> DownloadLimits.DEFAULT)) {
            downloader.download(key, source, Progress.NONE);
        }
        new Unpacker(machine.layout(), () -> UnpackLimits.DEFAULT).unpack(Machine.ID, key, "1", "greeter_1", "run");
        new Activator(machine.layout()).activate(Machine.ID, "greeter_1");
    }
}
