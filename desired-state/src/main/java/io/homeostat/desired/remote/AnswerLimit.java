package io.homeostat.desired.remote;

import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;

/**
 * Limit of what an answer of a git server has beside objects: names of branches and tags, progress and other messages, all of which JGit
 * keeps in memory. For one answer at a time, read by one thread.
 */
final class AnswerLimit {
    private long most;
    private long left;
    private boolean exceeded;

    /** @param most bytes of an answer that are not of objects */
    AnswerLimit(long most) {
        this.most = most;
    }

    /** Sets what the answers after this one may have. */
    void raise(long next) {
        most = next;
    }

    /** Returns whether an answer had more than it may have. */
    boolean isExceeded() {
        return exceeded;
    }

    /** Begins with another answer, and counts what is read of it. */
    InputStream counted(InputStream answer) {
        left = most;
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
            exceeded = true;
            throw new IOException("the server sends more than " + most
                    + " bytes beside objects, such as names of branches and tags; use a repository with fewer");
        }
    }

    /** Takes bytes of an answer as those of objects. */
    void objects(int bytes) {
        left += bytes;
    }
}
