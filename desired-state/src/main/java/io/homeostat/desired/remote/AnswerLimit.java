package io.homeostat.desired.remote;

import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;

/** Limits of what the answers of a git server have that takes memory. For one answer at a time, read by one thread. */
final class AnswerLimit {
    private Most most;
    private long left;
    private boolean exceeded;

    AnswerLimit(Most most) {
        this.most = most;
    }

    /**
     * What there may be.
     *
     * @param beside bytes that are not of objects: names of branches and tags, progress and other messages, all of which JGit keeps in memory
     * @param size bytes of an object, and of all documents of a set
     * @param objects in a pack, of which JGit and {@link PackCheck} keep some 150 bytes each
     * @param kept bytes of objects that are kept at once
     * @param deltas bytes of all objects that are put together, each of which takes processor time
     */
    record Most(long beside, long size, int objects, long kept, long deltas) {
        /** What may be read while others read large sets. */
        static final Most SMALL = new Most(LargeSetLock.SMALL, LargeSetLock.SMALL, 20_000, 8L << 20, 64L << 20);

        static final Most LARGE = new Most(SetFetcher.MAX_BYTES, SetFetcher.MAX_BYTES, 500_000, 64L << 20, 1L << 30);

        /** For who trusts the server. */
        static final Most ANY =
                new Most(Long.MAX_VALUE, Long.MAX_VALUE, Integer.MAX_VALUE, Long.MAX_VALUE, Long.MAX_VALUE);
    }

    /** What there may be now. */
    Most most() {
        return most;
    }

    /** Sets what the answers after this one may have. */
    void raise(Most next) {
        most = next;
        exceeded = false;
    }

    /** Notes that there was more than there may be. */
    void exceed() {
        exceeded = true;
    }

    /** Returns whether there was more than there may be. */
    boolean isExceeded() {
        return exceeded;
    }

    /** Begins with another answer, and counts what is read of it. */
    InputStream counted(InputStream answer) {
        left = most.beside();
        return new FilterInputStream(answer) {
            @Override
            public int read() throws IOException {
                int got = super.read();
                count(got < 0 ? 0 : 1);
                return got;
            }

            @Override
            public int read(byte[] into, int offset, int count) throws IOException {
                int got = super.read(into, offset, count);
                count(Math.max(got, 0));
                return got;
            }

            @Override
            public boolean markSupported() {
                return false;
            }
        };
    }

    private void count(int bytes) throws IOException {
        left -= bytes;
        if (left < 0) {
            exceed();
            throw new IOException("the server sends more than " + most.beside()
                    + " bytes beside objects, such as names of branches and tags; use a repository with fewer");
        }
    }

    /** Takes bytes of an answer as those of objects. */
    void objects(int bytes) {
        left += bytes;
    }
}
