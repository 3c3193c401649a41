package io.homeostat.desired.remote;

import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.zip.DataFormatException;
import java.util.zip.Inflater;
import org.eclipse.jgit.errors.TooLargeObjectInPackException;

/**
 * Reads along while JGit parses a pack (gitformat-pack(5)), and breaks off before that takes more memory than there is. JGit allocates an
 * array for as many objects as the pack announces. When all have arrived, it puts together those that are stored as deltas, and keeps each
 * as long as there are more deltas to it: so some bytes can stand for many large objects that are kept at once.
 */
final class PackCheck extends FilterInputStream {
    private static final int HEAD = 12;
    private static final int OFFSET_DELTA = 6;
    private static final int REFERENCE_DELTA = 7;
    private static final int REFERENCE = 20;
    private static final int NONE = -1;

    private final AnswerLimit limit;
    private final Inflater inflater = new Inflater();
    private final byte[] inflated = new byte[8192];
    private final ByteBuffer head = ByteBuffer.allocate(HEAD);

    /** The beginning of a delta: the lengths of its base and of its result. */
    private final ByteBuffer lengths = ByteBuffer.allocate(20);

    private Part part = Part.HEAD;

    /** Of the next byte. */
    private long position;

    private int count;

    /** Of each object so far. */
    private long[] starts = {};

    /** Of each object so far, in bytes. */
    private int[] sizes = {};

    /** The number of the object that each is a delta to, or none; unknown ones, by name, are none. */
    private int[] bases = {};

    private boolean hasReferences;
    private long sizeOfDeltas;

    private int type;
    private int shift;
    private long size;
    private long distance;
    private int read;
    private long unpacked;

    private enum Part {
        HEAD,
        TYPE_AND_SIZE,
        DISTANCE,
        NAME,
        CONTENT,
        END
    }

    /** @param limit is told what is of objects, and when there is more than there may be */
    PackCheck(InputStream pack, AnswerLimit limit) {
        super(pack);
        this.limit = limit;
    }

    @Override
    public int read() throws IOException {
        byte[] one = new byte[1];
        return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public int read(byte[] into, int offset, int length) throws IOException {
        int got = super.read(into, offset, length);
        if (got > 0) {
            limit.objects(got);
            follow(into, offset, got);
        }
        return got;
    }

    @Override
    public long skip(long length) throws IOException {
        throw new IOException("a pack is read from its beginning to its end");
    }

    @Override
    public boolean markSupported() {
        return false;
    }

    private void follow(byte[] bytes, int offset, int length) throws IOException {
        int at = 0;
        while (at < length && part != Part.END) {
            int used = 1;
            if (part == Part.CONTENT) {
                used = content(bytes, offset + at, length - at);
            } else {
                header(bytes[offset + at] & 0xff);
            }
            at += used;
            position += used;
        }
    }

    private void header(int next) throws IOException {
        boolean isLast = (next & 0x80) == 0;
        switch (part) {
            case HEAD -> {
                head.put((byte) next);
                if (!head.hasRemaining()) {
                    begin(Integer.toUnsignedLong(head.getInt(8)));
                }
            }
            case TYPE_AND_SIZE -> {
                if (shift == 0) {
                    starts[count] = position;
                    type = (next >> 4) & 7;
                    size = next & 15;
                    shift = 4;
                } else {
                    size += (long) (next & 0x7f) << shift;
                    shift += 7;
                }
                if (isLast) {
                    requireSmall(size);
                    part = type == OFFSET_DELTA ? Part.DISTANCE : type == REFERENCE_DELTA ? Part.NAME : Part.CONTENT;
                }
            }
            case DISTANCE -> {
                distance = (read == 0 ? 0 : (distance + 1) << 7) + (next & 0x7f);
                read++;
                part = isLast ? Part.CONTENT : part;
            }
            case NAME -> {
                read++;
                part = read == REFERENCE ? Part.CONTENT : part;
            }
            case CONTENT, END -> throw new IllegalStateException("no header");
        }
    }

    private void begin(long announced) throws IOException {
        if (announced > limit.most().objects()) {
            limit.exceed();
            throw new IOException("it has " + announced + " objects, and at most "
                    + limit.most().objects()
                    + " are fetched; keep documents in a repository of their own");
        }
        starts = new long[(int) announced];
        sizes = new int[(int) announced];
        bases = new int[(int) announced];
        part = announced == 0 ? Part.END : Part.TYPE_AND_SIZE;
    }

    /** Returns how many of the bytes were of the object. */
    private int content(byte[] bytes, int offset, int length) throws IOException {
        inflater.setInput(bytes, offset, length);
        try {
            for (int got = 1; got > 0 && !inflater.finished(); unpacked += got) {
                got = inflater.inflate(inflated);
                lengths.put(inflated, 0, Math.min(got, lengths.remaining()));
                if (unpacked + got > size) {
                    throw damaged();
                }
            }
        } catch (DataFormatException e) {
            throw damaged();
        }
        if (inflater.needsDictionary()) {
            throw damaged();
        }
        int used = length - inflater.getRemaining();
        if (inflater.finished()) {
            end();
        }
        return used;
    }

    private void end() throws IOException {
        boolean isDelta = type == OFFSET_DELTA || type == REFERENCE_DELTA;
        sizes[count] = isDelta ? resultSize() : (int) size;
        sizeOfDeltas += isDelta ? sizes[count] : 0;
        if (sizeOfDeltas > limit.most().deltas()) {
            limit.exceed();
            throw new IOException("its objects are stored as differences that stand for more than "
                    + limit.most().deltas() + " bytes; keep documents in a repository without large files");
        }
        hasReferences |= type == REFERENCE_DELTA;
        int base = type == OFFSET_DELTA ? Arrays.binarySearch(starts, 0, count, starts[count] - distance) : NONE;
        bases[count] = Math.max(base, NONE);
        count++;
        inflater.reset();
        lengths.clear();
        shift = 0;
        read = 0;
        unpacked = 0;
        part = Part.TYPE_AND_SIZE;
        if (count == starts.length) {
            part = Part.END;
            inflater.end();
            requireRoom();
        }
    }

    private int resultSize() throws IOException {
        lengths.flip();
        long result = 0;
        for (int i = 0; i < 2; i++) {
            result = 0;
            int next = 0x80;
            for (int bits = 0; (next & 0x80) != 0; bits += 7) {
                if (!lengths.hasRemaining()) {
                    throw damaged();
                }
                next = lengths.get();
                result |= (long) (next & 0x7f) << bits;
            }
        }
        requireSmall(result);
        return (int) result;
    }

    /** What JGit would keep at once, which visits the deltas to an object in the order of their places, each with all deltas to it. */
    private void requireRoom() throws IOException {
        int[] last = new int[count];
        for (int i = 0; i < count; i++) {
            if (bases[i] != NONE) {
                last[bases[i]] = i;
            }
        }
        // Of those that are kept while the deltas to an object are visited.
        long[] kept = new long[count];
        long most = hasReferences ? sizeOfDeltas : 0;
        for (int i = 0; i < count; i++) {
            int base = bases[i];
            if (base != NONE) {
                kept[i] = kept[base] + (last[base] == i ? 0 : sizes[base]);
                most = Math.max(most, kept[base] + sizes[base] + sizes[i]);
            }
        }
        if (most > limit.most().kept()) {
            limit.exceed();
            throw new IOException("putting its objects together takes more than "
                    + limit.most().kept() + " bytes of memory; keep documents in a repository without large files");
        }
    }

    private void requireSmall(long size) throws IOException {
        if (size < 0 || size > limit.most().size()) {
            limit.exceed();
            throw new TooLargeObjectInPackException(size, limit.most().size());
        }
    }

    private static IOException damaged() {
        return new IOException("the server sends a damaged pack");
    }
}
