package io.homeostat.actuate.unpack;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.Disk;
import io.homeostat.actuate.Machine;
import io.homeostat.actuate.QuickDisk;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.observe.Observation;
import io.homeostat.observe.install.Installation;
import io.homeostat.observe.install.InstallationMarker;
import io.homeostat.observe.install.InstallationObserver;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.junit.jupiter.api.Test;

/** When something is unpacked, and what is there before, meanwhile and afterwards. */
final class UnpackerTest extends UnpackTestBed {
    @Test
    void whatWasUnpackedIsFoundWholeAndLaterDamageIsFound() throws Exception {
        TarBuilder tar = ordinary()
                .file("twice", "first")
                .file("twice", "second")
                .hardLink("linked", "bin/greeter")
                .directory("empty", 0)
                .file("name with \u00e9 and \"quotes\"", "x");
        String key = machine.cached(tar.tarGz());
        unpack(key, "bin/greeter");
        InstallationObserver observer = new InstallationObserver(machine.layout());
        Installation whole = new Installation(DIRECTORY, "1", key, key);
        assertEquals(Observation.seen(ImmutableList.of(whole)), observer.examined(ID));

        Files.writeString(machine.install(DIRECTORY).resolve("twice"), "third!");

        assertEquals(
                Observation.seen(ImmutableList.of(whole.withDamage("twice has other content"))),
                // Another one: where a check takes long, the same one does not look again at once.
                new InstallationObserver(machine.layout()).examined(ID));
    }

    @Test
    void whatIsInstalledIsNotUnpackedAgain() throws Exception {
        String key = machine.cached(ordinary().tarGz());
        unpack(key, "bin/greeter");
        Files.writeString(machine.install(DIRECTORY).resolve("share/text"), "touched");
        Files.delete(machine.layout().archive(key));

        unpack(key, "bin/greeter");

        assertEquals("touched", Files.readString(machine.install(DIRECTORY).resolve("share/text")));
    }

    @Test
    void theChecksumOfAnUndeclaredArchiveIsInItsMarker() throws Exception {
        byte[] archive = ordinary().tarGz();
        String key = "unverified-" + "e".repeat(64);
        Files.createDirectories(machine.layout().archives());
        Files.write(machine.layout().archive(key), archive);
        unpack(key, "bin/greeter");

        assertEquals(
                ImmutableList.of(new Installation(DIRECTORY, "1", key, Machine.sha256(archive))),
                machine.installations(ID));
    }

    @Test
    void leftoversOfAnInterruptedUnpackingAreRemovedFirst() throws Exception {
        Path left = machine.layout().staging(ID).resolve(DIRECTORY).resolve("bin");
        Files.createDirectories(left);
        Files.createSymbolicLink(left.resolve("greeter"), Path.of("/etc/passwd"));
        Files.write(machine.layout().staging(ID).resolve(DIRECTORY).resolve(InstallationMarker.FILE), new byte[0]);

        unpack(machine.cached(ordinary().tarGz()), "bin/greeter");

        assertOrdinary();
    }

    @Test
    void archivesOfManyEntriesAreUnpackedOneAfterTheOtherAndKeepNoOthersWaiting() throws Exception {
        TarBuilder many = ordinary();
        TarBuilder more = ordinary().file("more", "");
        for (int i = 0; i < 20; i++) {
            many.file("empty" + i, "");
            more.file("empty" + i, "");
        }
        String first = machine.cached(many.tarGz());
        String second = machine.cached(more.tarGz());
        String small = machine.cached(ordinary().tarGz());
        BlockingQueue<String> whole = new LinkedBlockingQueue<>();
        Semaphore goOn = new Semaphore(0);
        Unpacker unpacker = new Unpacker(
                machine.layout(),
                () -> UnpackLimits.DEFAULT,
                new QuickDisk() {
                    @Override
                    public void syncTree(Path directory) {
                        whole.add(directory.getFileName().toString());
                        if (!directory.endsWith("third_small")) {
                            goOn.acquireUninterruptibly();
                        }
                    }
                },
                20,
                new ReentrantLock(true));
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Future<?>> large = new ArrayList<>();
            WorkloadId other = WorkloadId.plugin("other");
            large.add(threads.submit(() -> {
                unpacker.unpack(ID, first, "1", "greeter_1", "bin/greeter");
                return null;
            }));
            String one = Objects.requireNonNull(whole.poll(60, TimeUnit.SECONDS));
            large.add(threads.submit(() -> {
                unpacker.unpack(other, second, "1", "other_1", "bin/greeter");
                return null;
            }));
            WorkloadId third = WorkloadId.plugin("third");
            unpacker.unpack(third, small, "small", "third_small", "bin/greeter");
            assertEquals("third_small", whole.poll(60, TimeUnit.SECONDS));
            // Whoever would not wait for the first one would be there by now, or soon.
            await().during(Duration.ofMillis(200)).until(whole::isEmpty);
            goOn.release(2);
            for (Future<?> each : large) {
                each.get(60, TimeUnit.SECONDS);
            }
            assertEquals(List.of("greeter_1", "other_1"), List.of(one, whole.remove()));
        }
    }

    @Test
    void aMissingArchiveHasToBeDownloadedAgain() {
        ActuationFailure failure = failure("f".repeat(64), "bin/greeter");

        assertFalse(failure.fatal());
        assertContains(failure, "it has to be downloaded again");
    }

    @Test
    void aForeignDirectoryInTheInstallationsPlaceIsLeftAlone() throws Exception {
        Path foreign = Files.createDirectories(machine.install(DIRECTORY));
        Files.writeString(foreign.resolve("precious"), "x");

        ActuationFailure failure = failure(machine.cached(ordinary().tarGz()), "bin/greeter");

        assertFalse(failure.fatal());
        assertContains(failure, foreign + " is there and is not an installation");
        assertTrue(Files.exists(foreign.resolve("precious")));
    }

    @Test
    void anInstallationOfAnotherArchiveIsNotOverwritten() throws Exception {
        unpack(machine.cached(ordinary().tarGz()), "bin/greeter");

        ActuationFailure failure =
                failure(machine.cached(ordinary().file("more", "x").tarGz()), "bin/greeter");

        assertContains(failure, "from another archive");
        assertFalse(Files.exists(machine.install(DIRECTORY).resolve("more")));
    }

    @Test
    void anEntryPointThatIsNotThereIsFinalAndSaysWhatIs() throws Exception {
        String key = machine.cached(ordinary().program("sbin/other").tarGz());

        ActuationFailure failure = failure(key, "bin/greter");

        assertTrue(failure.fatal());
        assertContains(
                failure, "the entry point 'bin/greter' is not in the archive; executable are sbin/other, bin/greeter");
        assertFalse(Files.exists(machine.install(DIRECTORY)));
        assertFalse(Files.exists(machine.layout().staging(ID)));
    }

    @Test
    void anEntryPointHasToBeAnExecutableFile() throws Exception {
        String key = machine.cached(ordinary().symlink("dangling", "nowhere").tarGz());

        assertContains(failure(key, "share/text"), "the entry point 'share/text' is not executable");
        assertContains(failure(key, "bin"), "the entry point 'bin' is a directory");
        assertContains(failure(key, "dangling"), "'dangling' is not in ");
        assertContains(failure(key, "../bin/greeter"), "is not a path inside the archive");
        unpack(key, "./greeter");
    }

    @Test
    void anArchiveWithoutAnythingExecutableSaysSo() throws Exception {
        byte[] zip = new ZipBuilder().plain("greeter", new byte[10]).zip();

        assertContains(
                failure(machine.cached(zip), "greeter"),
                "'greeter' is not executable; no file in the archive is executable");
    }

    @Test
    void aFileThatIsLostAsSoonAsItIsWrittenFailsTheAttempt() throws Exception {
        String key = machine.cached(ordinary().tarGz());
        Disk scanned = new QuickDisk() {
            @Override
            public void write(Path file, byte[] content) throws IOException {
                super.write(file, content);
                Files.delete(file.resolveSibling("bin/greeter"));
            }
        };

        ActuationFailure failure = assertThrows(
                ActuationFailure.class,
                () -> new Unpacker(machine.layout(), () -> UnpackLimits.DEFAULT, scanned)
                        .unpack(ID, key, "1", DIRECTORY, "bin/greeter"));

        assertFalse(failure.fatal());
        assertContains(failure, "its files were changed as soon as they were written: bin/greeter is gone");
        assertEquals(ImmutableList.of(), machine.installations(ID));
        assertFalse(Files.exists(machine.layout().staging(ID)));
    }

    @Test
    void anInterruptStopsItAndLeavesNothingVisible() throws Exception {
        String key =
                machine.cached(ordinary().file("big", 0644, new byte[8 << 20]).tarGz());

        Thread.currentThread().interrupt();
        assertThrows(InterruptedException.class, () -> unpack(key, "bin/greeter"));

        assertFalse(Thread.interrupted(), "whoever throws the exception clears the mark");
        assertEquals(ImmutableList.of(), machine.installations(ID));
        unpack(key, "bin/greeter");
        assertOrdinary();
    }
}
