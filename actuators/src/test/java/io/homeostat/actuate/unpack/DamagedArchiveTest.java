package io.homeostat.actuate.unpack;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.primitives.Bytes;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.Disk;
import io.homeostat.actuate.Machine;
import io.homeostat.actuate.QuickDisk;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collections;
import java.util.Random;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarConstants;
import org.junit.jupiter.api.Test;

/** Archives that are not whole, or are not what they seem to be. */
final class DamagedArchiveTest extends RefusalTestBed {
    private static final long MIB = 1 << 20;

    /** By this a zip is recognised. */
    private static final byte[] START = {'P', 'K', 3, 4};

    @Test
    void truncatedArchives() throws Exception {
        byte[] random = new byte[100_000];
        new Random(2).nextBytes(random);
        byte[] tar = tar().file("data", 0644, random).tar();
        byte[] gz = TarBuilder.gzip(tar);
        byte[] zip = zip().file("data", 0644, random).zip();

        refused(Arrays.copyOf(tar, 50_000), "is damaged");
        refused(Arrays.copyOf(tar, 1024), "it ends without the mark of its end");
        refused(Arrays.copyOf(gz, 50_000), "is damaged");
        refused(Arrays.copyOf(gz, gz.length - 4), "is damaged");
        refused(Arrays.copyOf(zip, 50_000), "it is truncated");
        refused(Arrays.copyOf(zip, zip.length - 1), "it is truncated");
    }

    @Test
    void damagedArchives() throws Exception {
        byte[] random = new byte[100_000];
        new Random(3).nextBytes(random);
        byte[] gz = tar().file("data", 0644, random).tarGz();
        gz[50_000] ^= 1;
        byte[] zip = zip().file("data", 0644, random).zip();
        zip[50_000] ^= 1;

        refused(gz, "its compressed data is not valid gzip");
        refused(zip, "entry 'data' ");
    }

    @Test
    void theHeaderThatIsWrongIsNamedByItsPlace() throws Exception {
        byte[] tar = tar().file("data", "x").tar();
        Arrays.fill(tar, 1024 + 124, 1024 + 135, (byte) 'x');

        refused(tar, "it is not a valid tar: the header at byte 1024 is wrong");
    }

    @Test
    void somethingAfterTheEnd() throws Exception {
        String words = "something other than zeros comes after its end";
        byte[] more = "and something else, longer than a header of gzip".getBytes(UTF_8);

        refused(Bytes.concat(tar().tar(), more), words);
        refused(TarBuilder.gzip(Bytes.concat(tar().tar(), more)), words);
        refused(Bytes.concat(tar().tarGz(), more), "is damaged");
        refused(Bytes.concat(zip().zip(), more), "something comes after its end");
    }

    @Test
    void encryptedZips() throws Exception {
        byte[] zip = zip().zip();
        int directory = indexOf(zip, new byte[] {'P', 'K', 1, 2});
        zip[directory + 8] |= 1;

        refused(zip, "entry 'run' is encrypted");
    }

    @Test
    void zipsThatSayDifferentThingsAtTheirTwoEnds() throws Exception {
        String words = " is described differently in the zip's directory and before its content";
        byte[] name = zip().zip();
        name[30] = 'X';
        refused(name, "entry 'run'" + words);

        byte[] method = zip().zip();
        method[8] = 0;
        refused(method, "entry 'run'" + words);

        byte[] size = zip().stored("data", new byte[20]).zip();
        size[indexOf(size, "data".getBytes(UTF_8)) - 30 + 22] = 19;
        refused(size, "entry 'data'" + words);
    }

    @Test
    void zipsWithMoreEntriesThanTheySay() throws Exception {
        String words = "more than the 100 ";
        UnpackLimits limits = new UnpackLimits(MIB, 100, 0);
        byte[] directory = repeated(directoryEntry(new byte[0]), 101);

        refused(endedZip(directory), words, limits);
        // With another one, which has nothing wrong, where older programs look for it.
        byte[] good = directoryEntry(new byte[0]);
        int at = START.length + directory.length;
        byte[] both = Bytes.concat(START, directory, good, zip64End(1, START.length, at + good.length));
        refused(Bytes.concat(both, end(good.length, at)), words, limits);
    }

    @Test
    void zipsWhoseDirectoryWouldFillTheMemory() throws Exception {
        // Extra fields of the least length, each of which is an object when it is read.
        byte[] directory = repeated(directoryEntry(new byte[4000]), 1200);

        refused(endedZip(directory), "its directory would take more than the 100663296 bytes of memory that it may");
        refused(endedZip(directoryEntry(new byte[4004])), "an entry has more than 1000 extra fields");
    }

    private static byte[] directoryEntry(byte[] extra) {
        ByteBuffer entry = ByteBuffer.allocate(47 + extra.length).order(ByteOrder.LITTLE_ENDIAN);
        entry.putInt(0, 0x02014b50)
                .putShort(28, (short) 1)
                .putShort(30, (short) extra.length)
                .put(46, (byte) 'x')
                .put(47, extra);
        return entry.array();
    }

    private static byte[] repeated(byte[] entry, int times) {
        return Bytes.concat(Collections.nCopies(times, entry).toArray(byte[][]::new));
    }

    /** A zip of a directory alone, which says that it has one entry. */
    private static byte[] endedZip(byte[] directory) {
        return Bytes.concat(START, directory, end(directory.length, START.length));
    }

    private static byte[] end(int length, int offset) {
        ByteBuffer end = ByteBuffer.allocate(22).order(ByteOrder.LITTLE_ENDIAN);
        end.putInt(0, 0x06054b50).putShort(8, (short) 1).putShort(10, (short) 1);
        return end.putInt(12, length).putInt(16, offset).array();
    }

    @Test
    void zipsWhoseDirectoryIsNotWhereTheySay() throws Exception {
        for (long offset : new long[] {-1, Long.MIN_VALUE, Long.MAX_VALUE, 1 << 20}) {
            refused(zip64(1, offset), "the directory at its end is damaged");
        }
        byte[] zip = zip().zip();
        ByteBuffer.wrap(zip).order(ByteOrder.LITTLE_ENDIAN).putInt(zip.length - 22 + 16, 1 << 20);
        refused(zip, "the directory at its end is damaged");
    }

    /** A zip with the long form of the record at its end, which says where its directory begins. */
    private static byte[] zip64(long entries, long offset) {
        byte[] zip = zip().zip();
        int end = zip.length - 22;
        ByteBuffer last = ByteBuffer.allocate(22).order(ByteOrder.LITTLE_ENDIAN);
        last.putInt(0x06054b50).putInt(0).putInt(-1).putInt(-1).putInt(-1);
        return Bytes.concat(Arrays.copyOf(zip, end), zip64End(entries, offset, end), last.array());
    }

    /** @param at where it is */
    private static byte[] zip64End(long entries, long offset, int at) {
        ByteBuffer end = ByteBuffer.allocate(56 + 20).order(ByteOrder.LITTLE_ENDIAN);
        end.putInt(0x06064b50)
                .putLong(44)
                .putShort((short) 45)
                .putShort((short) 45)
                .putInt(0)
                .putInt(0);
        end.putLong(entries).putLong(entries).putLong(0).putLong(offset);
        return end.putInt(0x07064b50).putInt(0).putLong(at).putInt(1).array();
    }

    @Test
    void tarsWithHeadersOfHeadersAreNotReadForEver() throws Exception {
        TarBuilder tar = tar();
        byte[] record = "19 comment=padding\n".getBytes(UTF_8);
        for (int i = 0; i < 17; i++) {
            TarArchiveEntry pax = new TarArchiveEntry("pax", TarConstants.LF_PAX_EXTENDED_HEADER_LC);
            pax.setSize(record.length);
            tar.put(pax, record);
        }

        refused(tar.file("last", "x").tar(), "an entry has more than 16 headers");
    }

    /** Each header of an entry has a copy of them. */
    @Test
    void tarsWithGlobalHeadersThatWouldFillTheMemory() throws Exception {
        TarBuilder tar = tar();
        for (int i = 0; i < 17; i++) {
            tar.global("key" + i, "x".repeat(1000)).file("file" + i, "x");
        }

        refused(tar.tar(), "its global headers are longer than 16384 bytes");
    }

    @Test
    void whatIsNoArchiveIsSaidToBeWhatItLooksLike() throws Exception {
        refused(
                "\u007fELF".getBytes(UTF_8),
                "it is no tar.gz, tar or zip: it is an ELF program; pack the program into a tar.gz");
        refused("#!/bin/sh".getBytes(UTF_8), "it is a script");
        refused("\n<!DOCTYPE HTML><p>".getBytes(UTF_8), "it is an HTML page");
        refused("BZh91AY".getBytes(UTF_8), "it is compressed with bzip2");
        refused(new byte[] {(byte) 0xfd, '7', 'z', 'X', 'Z', 0}, "with xz");
        refused(new byte[] {0x28, (byte) 0xb5, 0x2f, (byte) 0xfd}, "with zstd");
        refused(new byte[] {1, 2, 3}, "it begins with the bytes 010203");
        refused(new byte[0], "it is empty");
    }

    @Test
    void anArchiveThatChangedOnDiskIsFetchedAgain() throws Exception {
        byte[] good = tar().tarGz();
        String key = machine.cached(good);
        Files.write(machine.layout().archive(key), Arrays.copyOf(good, good.length / 2));

        ActuationFailure failure = failure(key, UnpackLimits.DEFAULT);

        assertFalse(failure.fatal());
        assertTrue(String.valueOf(failure.getMessage())
                .endsWith("it has been removed from the cache and is fetched again"));
        assertFalse(Files.exists(machine.layout().archive(key)));
    }

    @Test
    void anUndeclaredArchiveThatIsRefusedIsFetchedAgain() throws Exception {
        String key = "unverified-" + "a".repeat(64);
        Files.createDirectories(machine.layout().archives());
        Files.write(machine.layout().archive(key), tar().file("../evil", "x").tarGz());

        assertFalse(failure(key, UnpackLimits.DEFAULT).fatal());
        assertFalse(Files.exists(machine.layout().archive(key)));
    }

    @Test
    void aFullDiskIsNotTheArchivesFault() throws Exception {
        String key = machine.cached(tar().tarGz());
        Disk full = new QuickDisk() {
            @Override
            public long usableBytes(Path path) {
                return 1000;
            }
        };

        ActuationFailure failure = assertThrows(
                ActuationFailure.class,
                () -> new Unpacker(machine.layout(), () -> UnpackLimits.DEFAULT, full)
                        .unpack(Machine.ID, key, "1", "greeter_1", "run"));

        assertFalse(failure.fatal());
        assertTrue(String.valueOf(failure.getMessage()).contains("only 1000 bytes are free"), failure.getMessage());
        assertTrue(Files.exists(machine.layout().archive(key)));
    }

    private static int indexOf(byte[] bytes, byte[] wanted) {
        int at = Bytes.indexOf(bytes, wanted);
        assertTrue(at >= 0, "the archive has what the test changes");
        return at;
    }
}
