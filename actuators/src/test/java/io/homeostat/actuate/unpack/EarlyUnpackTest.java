package io.homeostat.actuate.unpack;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.Disk;
import io.homeostat.actuate.LocalDisk;
import io.homeostat.actuate.Machine;
import io.homeostat.actuate.archive.ArrivingArchive;
import io.homeostat.actuate.unpack.UnpackLimits.UnpackBudget;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.Stream;
import java.util.zip.GZIPOutputStream;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveOutputStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** An archive that is unpacked while it arrives. */
final class EarlyUnpackTest extends UnpackTestBed {
    private static final Duration LONG = Duration.ofMinutes(1);

    @AfterEach
    void tearDown() {
        unpacker.close();
    }

    @Test
    void whatHasBeenUnpackedWhileItArrivedIsNotReadAgain() throws Exception {
        byte[] archive = large();
        String key = Machine.sha256(archive);
        Arrival arrival = new Arrival(key, archive.length);
        unpacker.unpackEarly(ID, arrival.archive);
        arrival.append(archive, 0, archive.length / 2);
        awaitTrees(1);
        arrival.append(archive, archive.length / 2, archive.length);
        arrival.archive.complete();
        cacheNonsense(key);

        unpack(key, "bin/greeter");

        assertOrdinary();
        assertEquals(
                List.of(),
                machine.installations(ID).stream()
                        .filter(each -> !each.key().equals(key))
                        .toList());
        awaitTrees(0);
    }

    @Test
    void aTarThatIsNotCompressedIsUnpackedEarlyToo() throws Exception {
        byte[] archive = ordinary().tar();
        String key = Machine.sha256(archive);
        arrived(unpacker, key, archive).complete();
        cacheNonsense(key);

        unpack(key, "bin/greeter");

        assertOrdinary();
    }

    @Test
    void whatWasNotVerifiedIsNeverInstalled() throws Exception {
        byte[] archive = large();
        String key = Machine.sha256(archive);
        ArrivingArchive arriving = arrived(unpacker, key, archive);
        awaitTrees(1);
        arriving.breakOff();
        awaitTrees(0);
        cacheNonsense(key);

        assertContains(failure(key, "bin/greeter"), "it is no tar.gz, tar or zip");

        assertFalse(Files.exists(machine.install(DIRECTORY)));
    }

    @Test
    void whoHasTheArchiveFromElsewhereDoesNotWaitForTheRest() throws Exception {
        byte[] archive = large();
        String key = Machine.sha256(archive);
        Arrival slow = new Arrival(key, archive.length);
        unpacker.unpackEarly(ID, slow.archive);
        slow.append(archive, 0, archive.length / 2);
        awaitTrees(1);
        String _ = machine.cached(archive);

        unpack(key, "bin/greeter");

        assertOrdinary();
        assertEquals(0, trees());
    }

    @Test
    void whatIsRefusedIsRefusedByTheStepThatUnpacks() throws Exception {
        byte[] archive = ordinary().program("../outside").tarGz();
        String key = machine.cached(archive);
        arrived(unpacker, key, archive).complete();

        ActuationFailure failure = failure(key, "bin/greeter");

        assertContains(failure, "the archive is refused");
        assertTrue(failure.fatal());
        // Who unpacked it early may still be deleting what came of it.
        awaitTrees(0);
        assertFalse(Files.exists(machine.layout().staging(ID)));
    }

    @Test
    void anArchiveWithoutItsEntryPointLeavesNothing() throws Exception {
        byte[] archive = ordinary().tarGz();
        String key = machine.cached(archive);
        arrived(unpacker, key, archive).complete();

        assertContains(failure(key, "bin/other"), "'bin/other' is not in ");

        assertEquals(0, trees());
        assertFalse(Files.exists(machine.layout().staging(ID)));
    }

    @Test
    void whereThereIsNotRoomForBothTheDownloadComesFirst() throws Exception {
        byte[] archive = large();
        String key = machine.cached(archive);
        long enoughForOne = 2L * archive.length + UnpackBudget.LOOK_EVERY - 1;
        Disk small = withRoom(enoughForOne + UnpackLimits.DEFAULT.reserveBytes());
        try (Unpacker tight = new Unpacker(machine.layout(), () -> UnpackLimits.DEFAULT, small)) {
            ArrivingArchive arriving = arrived(tight, key, archive);
            // It has been given up before it was complete.
            await().atMost(LONG).until(arriving::isClosed);
            awaitTrees(0);
            arriving.complete();

            tight.unpack(ID, key, "1", DIRECTORY, "bin/greeter");
        }
        assertOrdinary();
    }

    @Test
    void onlySomeAreUnpackedAtOnce() throws Exception {
        byte[] archive = large();
        List<Arrival> arrivals = new ArrayList<>();
        for (int i = 0; i <= EarlyTrees.AT_ONCE; i++) {
            Arrival arrival = new Arrival(Machine.sha256(new byte[] {(byte) i}), archive.length);
            arrival.append(archive, 0, archive.length / 2);
            unpacker.unpackEarly(ID, arrival.archive);
            arrivals.add(arrival);
        }
        awaitTrees(EarlyTrees.AT_ONCE);
        assertTrue(arrivals.getLast().archive.isClosed());

        arrivals.getFirst().archive.breakOff();
        awaitTrees(EarlyTrees.AT_ONCE - 1);
        Arrival arrival = new Arrival(Machine.sha256(archive), archive.length);
        arrival.append(archive, 0, archive.length / 2);
        unpacker.unpackEarly(ID, arrival.archive);

        awaitTrees(EarlyTrees.AT_ONCE);
    }

    @Test
    void aBombIsOneWhateverLengthIsAnnounced() throws Exception {
        byte[] bomb = bomb(80 << 20);
        Arrival arrival = new Arrival(Machine.sha256(bomb), 1L << 30);
        arrival.append(bomb, 0, bomb.length);
        unpacker.unpackEarly(ID, arrival.archive);

        await().atMost(LONG).until(arrival.archive::isClosed);
        awaitTrees(0);
    }

    @Test
    void whatTakesMuchMemoryIsUnpackedFromTheCache() throws Exception {
        TarBuilder tar = ordinary();
        String deep = ("d".repeat(250) + "/").repeat(8);
        for (int i = 0; i < 900; i++) {
            tar.hardLink(deep + i, "share/text");
        }
        byte[] archive = tar.tarGz();
        String key = machine.cached(archive);
        Arrival arrival = new Arrival(key, archive.length);
        arrival.append(archive, 0, archive.length);
        unpacker.unpackEarly(ID, arrival.archive);
        // It has been given up before it was complete.
        await().atMost(LONG).until(arrival.archive::isClosed);
        arrival.archive.complete();

        unpack(key, "bin/greeter");

        assertOrdinary();
    }

    @Test
    void aTreeThatNobodyTakesIsDeleted() throws Exception {
        byte[] archive = large();
        String key = Machine.sha256(archive);
        Arrival arrival = new Arrival(key, archive.length);
        try (EarlyTrees trees =
                new EarlyTrees(machine.layout(), new LocalDisk(), Duration.ofMillis(1), new ReentrantLock())) {
            trees.begin(arrival.archive, machine.layout().installs(ID), UnpackLimits.DEFAULT);
            arrival.append(archive, 0, archive.length);
            awaitTrees(1);
            arrival.archive.complete();

            awaitTrees(0);
            assertTrue(trees.take(key).isEmpty());
        }
    }

    @Test
    void whatCannotBeMovedIsUnpackedFromTheCache() throws Exception {
        byte[] archive = large();
        String key = machine.cached(archive);
        // As between two mounts of one file system.
        Disk apart = with("rename", arguments -> {
            if (arguments[0].toString().endsWith(".tree")) {
                throw new FileSystemException(arguments[0].toString(), null, "they are on different file systems");
            }
        });
        try (Unpacker other = new Unpacker(machine.layout(), () -> UnpackLimits.DEFAULT, apart)) {
            arrived(other, key, archive).complete();

            other.unpack(ID, key, "1", DIRECTORY, "bin/greeter");
        }
        assertOrdinary();
        assertEquals(0, trees());
    }

    @Test
    void nothingOfAnEarlierTreeIsInANewOne() throws Exception {
        byte[] archive = large();
        String key = Machine.sha256(archive);
        Path left = machine.layout().downloads().resolve(key + ".1.tree");
        Files.writeString(Files.createDirectories(left).resolve("unverified"), "of a download that was killed");
        arrived(unpacker, key, archive).complete();
        String _ = machine.cached(archive);

        unpack(key, "bin/greeter");

        assertOrdinary();
        assertFalse(Files.exists(machine.install(DIRECTORY).resolve("unverified")));
    }

    @Test
    void whoeverClosesLeavesNothing() throws Exception {
        byte[] archive = large();
        ArrivingArchive arriving = arrived(unpacker, Machine.sha256(archive), archive);
        awaitTrees(1);

        unpacker.close();

        assertEquals(0, trees());
        assertTrue(arriving.isClosed());
    }

    /** Made without holding what it unpacks to. */
    private static byte[] bomb(int zeros) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (TarArchiveOutputStream tar = new TarArchiveOutputStream(new GZIPOutputStream(bytes))) {
            TarArchiveEntry entry = new TarArchiveEntry("bomb");
            entry.setSize(zeros);
            tar.putArchiveEntry(entry);
            byte[] some = new byte[1 << 20];
            for (int left = zeros; left > 0; left -= some.length) {
                tar.write(some);
            }
            tar.closeArchiveEntry();
        }
        return bytes.toByteArray();
    }

    private static byte[] large() {
        byte[] noise = new byte[3_000_000];
        new Random(1).nextBytes(noise);
        return ordinary().file("noise", 0644, noise).tarGz();
    }

    /** All of it is there, and it is not known whether it is the right one. */
    private ArrivingArchive arrived(Unpacker by, String key, byte[] archive) throws IOException {
        Arrival arrival = new Arrival(key, archive.length);
        arrival.append(archive, 0, archive.length);
        by.unpackEarly(ID, arrival.archive);
        return arrival.archive;
    }

    /** Who reads it in spite of all fails. */
    private void cacheNonsense(String key) throws IOException {
        Files.createDirectories(machine.layout().archives());
        Files.writeString(machine.layout().archive(key), "nonsense");
    }

    private void awaitTrees(int count) {
        await().atMost(LONG).until(() -> trees() == count);
    }

    private long trees() throws IOException {
        try (Stream<Path> left = Files.list(machine.layout().downloads())) {
            return left.filter(Files::isDirectory).count();
        }
    }

    private interface Before {
        void call(Object[] arguments) throws IOException;
    }

    private static Disk with(String method, Before before) {
        Disk disk = new LocalDisk();
        return (Disk) Proxy.newProxyInstance(
                Disk.class.getClassLoader(), new Class<?>[] {Disk.class}, (proxy, called, arguments) -> {
                    if (called.getName().equals(method)) {
                        before.call(arguments);
                    }
                    try {
                        return called.invoke(disk, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
    }

    private static Disk withRoom(long bytes) {
        Disk disk = new LocalDisk();
        return (Disk) Proxy.newProxyInstance(
                Disk.class.getClassLoader(), new Class<?>[] {Disk.class}, (proxy, method, arguments) -> {
                    try {
                        return method.getName().equals("usableBytes") ? (Object) bytes : method.invoke(disk, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
    }

    /** What a download does. */
    private final class Arrival {
        private final Path file;
        private final ArrivingArchive archive;

        Arrival(String key, long total) throws IOException {
            file = Files.createDirectories(machine.layout().downloads()).resolve(key);
            Files.write(file, new byte[0]);
            archive = new ArrivingArchive(key, file, total);
        }

        void append(byte[] bytes, int from, int to) throws IOException {
            byte[] more = new byte[to - from];
            System.arraycopy(bytes, from, more, 0, more.length);
            Files.write(file, more, StandardOpenOption.APPEND);
            archive.arrived(to);
        }
    }
}
