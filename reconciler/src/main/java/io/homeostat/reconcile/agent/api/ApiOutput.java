package io.homeostat.reconcile.agent.api;

import com.google.protobuf.ByteString;
import com.google.protobuf.UnsafeByteOperations;
import io.grpc.Status;
import io.grpc.stub.ServerCallStreamObserver;
import io.homeostat.proto.agent.Output;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.io.OutputStream;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The output of one call. The thread that answers it waits for a slow caller. Threads that work on workloads never wait: a little is
 * buffered for them, and a caller who lets more pile up loses the call.
 */
public final class ApiOutput {
    /** What is kept for a caller who does not read, beside the 32 KiB that gRPC calls ready. */
    static final int KEPT = 1 << 20;

    private static final int PIECE = 32 * 1024;

    private final ServerCallStreamObserver<Output> stream;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition moved = lock.newCondition();
    private @Nullable Thread answering;
    private boolean over;
    private int kept;

    ApiOutput(ServerCallStreamObserver<Output> stream) {
        this.stream = stream;
    }

    /** Results. Fails once nobody wants them any more. */
    public OutputStream standardOutput() {
        return new Pieces(bytes -> Output.newBuilder().setStandardOutput(bytes).build());
    }

    /** Messages for people. Fails once nobody wants them any more. */
    public OutputStream standardError() {
        return new Pieces(bytes -> Output.newBuilder().setStandardError(bytes).build());
    }

    void ready() {
        lock.lock();
        try {
            kept = 0;
            moved.signalAll();
        } finally {
            lock.unlock();
        }
    }

    void cancelled() {
        lock.lock();
        try {
            giveUp();
        } finally {
            lock.unlock();
        }
    }

    /**
     * Tells the caller that it was heard; false when the caller has gone away.
     *
     * @param thread the one that answers, and may be made to wait
     */
    boolean begin(Thread thread) {
        lock.lock();
        try {
            if (over) {
                return false;
            }
            answering = thread;
            stream.onNext(Output.newBuilder().setRefusesUnknownFields(true).build());
            return true;
        } finally {
            lock.unlock();
        }
    }

    void end(int exitStatus) {
        lock.lock();
        try {
            if (!over) {
                over = true;
                stream.onNext(Output.newBuilder().setExitStatus(exitStatus).build());
                stream.onCompleted();
            }
        } finally {
            lock.unlock();
        }
    }

    void fail(Status status) {
        lock.lock();
        try {
            if (!over) {
                over = true;
                stream.onError(status.asRuntimeException());
            }
        } finally {
            lock.unlock();
        }
    }

    private void send(Output piece, int size) throws IOException {
        lock.lock();
        try {
            if (Thread.currentThread().equals(answering)) {
                awaitReader();
            }
            if (over) {
                throw new IOException("the caller has gone away");
            }
            if (!stream.isReady()) {
                kept += size;
                if (kept > KEPT) {
                    fail(
                            Status.RESOURCE_EXHAUSTED.withDescription(
                                    "what the command wrote was not read fast enough; it has ended, what was declared is enforced"));
                    giveUp();
                    throw new IOException("the caller does not read");
                }
            }
            stream.onNext(piece);
        } finally {
            lock.unlock();
        }
    }

    private void giveUp() {
        over = true;
        moved.signalAll();
        if (answering != null) {
            answering.interrupt();
        }
    }

    private void awaitReader() throws InterruptedIOException {
        try {
            while (!over && !stream.isReady()) {
                moved.await();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("interrupted while the caller did not read");
        }
    }

    private final class Pieces extends OutputStream {
        private final Function<ByteString, Output> piece;

        Pieces(Function<ByteString, Output> piece) {
            this.piece = piece;
        }

        @Override
        public void write(int b) throws IOException {
            write(new byte[] {(byte) b}, 0, 1);
        }

        @Override
        public void write(byte[] bytes, int offset, int length) throws IOException {
            for (int done = 0; done < length; done += PIECE) {
                int size = Math.min(PIECE, length - done);
                byte[] copy = new byte[size];
                System.arraycopy(bytes, offset + done, copy, 0, size);
                send(piece.apply(UnsafeByteOperations.unsafeWrap(copy)), size);
            }
        }
    }
}
