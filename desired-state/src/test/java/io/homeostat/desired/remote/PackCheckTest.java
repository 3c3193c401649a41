package io.homeostat.desired.remote;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.desired.remote.AnswerLimit.Most;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Random;
import java.util.zip.Deflater;
import java.util.zip.DeflaterOutputStream;
import org.eclipse.jgit.errors.TooLargeObjectInPackException;
import org.eclipse.jgit.lib.Constants;
import org.junit.jupiter.api.Test;

/** Packs that would take much memory, each of which has few bytes. */
final class PackCheckTest {
    private static final int SIZE = 4 << 20;
    private static final String TOO_MUCH = "putting its objects together takes more than 67108864 bytes of memory;"
            + " keep documents in a repository without large files";

    private final ByteArrayOutputStream objects = new ByteArrayOutputStream();
    private int count;

    @Test
    void moreObjectsThanAnyRepositoryOfDocumentsHasAreNotAwaited() throws Exception {
        count = Most.LARGE.objects();
        assertArrayEquals(Arrays.copyOf(pack(), 12), read(Arrays.copyOf(pack(), 12)));
        count++;
        assertEquals(
                "it has 500001 objects, and at most 500000 are fetched; keep documents in a repository of their own",
                refusal());
        count = -1;
        assertTrue(refusal().startsWith("it has 4294967295 objects"), refusal());
    }

    @Test
    void aLongChainOfDeltasIsPutTogetherOneByOne() throws Exception {
        long last = base();
        for (int i = 0; i < 100; i++) {
            last = delta(last, SIZE);
        }

        assertArrayEquals(pack(), read(pack()));
        assertArrayEquals(pack(), readByBytes(pack()));
    }

    @Test
    void manyDeltasToOneObjectArePutTogetherOneByOne() throws Exception {
        long base = base();
        for (int i = 0; i < 100; i++) {
            delta(base, SIZE);
        }

        assertArrayEquals(pack(), read(pack()));
    }

    /** Each is kept as long as there is another delta to it. */
    @Test
    void aChainWithBranchesIsPutTogetherInMemory() throws Exception {
        long last = base();
        for (int i = 0; i < 14; i++) {
            long next = delta(last, SIZE);
            delta(last, SIZE);
            last = next;
        }
        assertArrayEquals(pack(), read(pack()));

        for (int i = 0; i < 2; i++) {
            long next = delta(last, SIZE);
            delta(last, SIZE);
            last = next;
        }

        assertEquals(TOO_MUCH, refusal());
        assertEquals(
                TOO_MUCH,
                assertThrows(IOException.class, () -> readByBytes(pack())).getMessage());
    }

    @Test
    void deltasToWhatIsNamedCountTogether() throws Exception {
        for (int i = 0; i < 16; i++) {
            deltaToNamed(SIZE);
        }
        assertArrayEquals(pack(), read(pack()));

        deltaToNamed(SIZE);

        assertEquals(TOO_MUCH, refusal());
    }

    /** Each takes processor time, however little is kept at once. */
    @Test
    void allDeltasTogetherAreBounded() throws Exception {
        long base = base();
        for (int i = 0; i < (1 << 30) / SIZE; i++) {
            delta(base, SIZE);
        }
        assertArrayEquals(pack(), read(pack()));

        delta(base, SIZE);

        assertTrue(refusal()
                .startsWith("its objects are stored as differences that stand for more than 1073741824 bytes"));
    }

    @Test
    void nothingIsLongerThanASet() throws Exception {
        long base = base();
        delta(base, SetFetcher.MAX_BYTES);
        assertArrayEquals(pack(), read(pack()));

        delta(base, SetFetcher.MAX_BYTES + 1L);
        assertThrows(TooLargeObjectInPackException.class, () -> read(pack()));

        objects.reset();
        delta(0, -1);
        assertThrows(TooLargeObjectInPackException.class, () -> read(pack()));
    }

    @Test
    void whatIsNotAsLongAsItSaysIsDamaged() throws Exception {
        header(Constants.OBJ_BLOB, 99);
        packed(new byte[100]);
        assertEquals("the server sends a damaged pack", refusal());

        objects.reset();
        header(Constants.OBJ_BLOB, 99);
        objects.write(new byte[100]);
        assertEquals("the server sends a damaged pack", refusal());
    }

    @Test
    void objectsAreNotCountedAsAnythingElse() throws Exception {
        byte[] noise = new byte[2000];
        new Random(1).nextBytes(noise);
        begin(Constants.OBJ_BLOB, noise.length);
        packed(noise);
        AnswerLimit limit = new AnswerLimit(new Most(1000, 2000, 1, 1000, 0));

        assertArrayEquals(pack(), readByBytes(new PackCheck(limit.counted(new ByteArrayInputStream(pack())), limit)));
        assertThrows(
                IOException.class,
                () -> limit.counted(new ByteArrayInputStream(pack())).readAllBytes());
    }

    private String refusal() {
        return String.valueOf(
                assertThrows(IOException.class, () -> read(pack())).getMessage());
    }

    private static byte[] read(byte[] pack) throws IOException {
        try (InputStream in = new PackCheck(new ByteArrayInputStream(pack), new AnswerLimit(Most.LARGE))) {
            return in.readAllBytes();
        }
    }

    private static byte[] readByBytes(byte[] pack) throws IOException {
        return readByBytes(new PackCheck(new ByteArrayInputStream(pack), new AnswerLimit(Most.LARGE)));
    }

    private static byte[] readByBytes(PackCheck pack) throws IOException {
        ByteArrayOutputStream read = new ByteArrayOutputStream();
        try (pack) {
            for (int next; (next = pack.read()) >= 0; ) {
                read.write(next);
            }
        }
        return read.toByteArray();
    }

    private byte[] pack() {
        ByteBuffer pack = ByteBuffer.allocate(12 + objects.size() + 20);
        pack.put(Constants.PACK_SIGNATURE).putInt(2).putInt(count).put(objects.toByteArray());
        return pack.array();
    }

    private long begin(int type, long size) {
        long position = 12L + objects.size();
        count++;
        header(type, size);
        return position;
    }

    private void header(int type, long size) {
        count = Math.max(count, 1);
        int first = type << 4 | (int) (size & 15);
        long rest = size >>> 4;
        objects.write(rest == 0 ? first : first | 0x80);
        if (rest != 0) {
            number(rest);
        }
    }

    /** The least significant bits first. */
    private void number(long number) {
        objects.writeBytes(numbered(number));
    }

    private static byte[] numbered(long number) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        long rest = number;
        do {
            int next = (int) (rest & 0x7f);
            rest >>>= 7;
            bytes.write(rest == 0 ? next : next | 0x80);
        } while (rest != 0);
        return bytes.toByteArray();
    }

    private void packed(byte[] content) throws IOException {
        try (DeflaterOutputStream out = new DeflaterOutputStream(objects, new Deflater(Deflater.BEST_SPEED))) {
            out.write(content);
        }
    }

    private long base() throws IOException {
        long position = begin(Constants.OBJ_BLOB, SIZE);
        packed(new byte[SIZE]);
        return position;
    }

    private long delta(long base, long result) throws IOException {
        byte[] content = lengths(result);
        long position = begin(Constants.OBJ_OFS_DELTA, content.length);
        // The most significant bits first, with one added to each but the last.
        long distance = position - base;
        ByteArrayOutputStream backwards = new ByteArrayOutputStream();
        backwards.write((int) (distance & 0x7f));
        for (long rest = distance >>> 7; rest > 0; rest >>>= 7) {
            rest--;
            backwards.write((int) (rest & 0x7f) | 0x80);
        }
        byte[] bytes = backwards.toByteArray();
        for (int i = bytes.length - 1; i >= 0; i--) {
            objects.write(bytes[i]);
        }
        packed(content);
        return position;
    }

    private void deltaToNamed(long result) throws IOException {
        byte[] content = lengths(result);
        begin(Constants.OBJ_REF_DELTA, content.length);
        objects.write(new byte[Constants.OBJECT_ID_LENGTH]);
        packed(content);
    }

    private static byte[] lengths(long result) {
        ByteBuffer lengths = ByteBuffer.allocate(100);
        lengths.put(numbered(SIZE)).put(numbered(result));
        return lengths.array();
    }
}
