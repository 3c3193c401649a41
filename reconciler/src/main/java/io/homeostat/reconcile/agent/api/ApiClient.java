package io.homeostat.reconcile.agent.api;

import com.google.common.collect.ImmutableSortedSet;
import com.google.protobuf.ByteString;
import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.Status.Code;
import io.grpc.StatusException;
import io.grpc.stub.BlockingClientCall;
import io.grpc.stub.ClientCalls;
import io.homeostat.proto.agent.AgentGrpc;
import io.homeostat.proto.agent.CommandRequest;
import io.homeostat.proto.agent.Input;
import io.homeostat.proto.agent.Output;
import io.homeostat.reconcile.agent.api.ApiException.Kind;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.ReentrantLock;

/** Calls a running agent. For one thread, but for {@link Talk}. */
public final class ApiClient implements AutoCloseable {
    /** How long an agent that is alive may take to say that it has heard. */
    public static final Duration PATIENCE = Duration.ofSeconds(5);

    /** Takes what a call brings, as it comes. */
    public interface Reader {
        void standardOutput(ByteString bytes);

        void standardError(ByteString bytes);

        /** False as soon as the rest is of no interest to anybody. */
        boolean readsOn();
    }

    private final Path socket;
    private final Duration patience;
    private final LocalTransport transport;
    private final ManagedChannel channel;

    /** Connects with the first call. */
    public ApiClient(Path socket, Duration patience) {
        this(socket, patience, new LocalTransport());
    }

    ApiClient(Path socket, Duration patience, LocalTransport transport) {
        this.socket = socket;
        this.transport = transport;
        this.patience = patience;
        this.channel = transport.channel(socket);
    }

    /**
     * Runs a command and hands on its output, until it ends or the reader has enough. An interrupt cancels the call.
     *
     * @return the exit status; 0 when the reader had enough before it came
     * @throws ApiException when there is none, or the agent is of a version that would ignore some of what is asked
     */
    public int run(CommandRequest request, Reader reader) throws InterruptedException {
        BlockingClientCall<CommandRequest, Output> call = ClientCalls.blockingV2ServerStreamingCall(
                channel, AgentGrpc.getRunMethod(), CallOptions.DEFAULT, request);
        boolean heard = false;
        try {
            Output piece = call.read(patience.toMillis(), TimeUnit.MILLISECONDS);
            if (piece != null && !piece.getRefusesUnknownFields()) {
                refuseToBeMisunderstood(request);
            }
            while (piece != null) {
                heard = true;
                switch (piece.getPieceCase()) {
                    case STANDARD_OUTPUT -> reader.standardOutput(piece.getStandardOutput());
                    case STANDARD_ERROR -> reader.standardError(piece.getStandardError());
                    case EXIT_STATUS -> {
                        return piece.getExitStatus();
                    }
                    case PIECE_NOT_SET -> {
                        // It has heard, or says something that this version does not know of.
                    }
                }
                if (!reader.readsOn()) {
                    return 0;
                }
                piece = call.read();
            }
            throw new ApiException(heard ? Kind.LOST : Kind.UNANSWERED, "it ended without an exit status", null);
        } catch (TimeoutException e) {
            throw unanswered(e);
        } catch (StatusException e) {
            throw failure(e, heard);
        } finally {
            call.cancel("no longer wanted", null);
        }
    }

    /**
     * Runs a command that reads what is typed here. When this returns the agent has heard.
     *
     * @throws ApiException as {@link #run}
     */
    public Talk talk(CommandRequest request) throws InterruptedException {
        Talk talk = new Talk();
        try {
            talk.begin(request);
            return talk;
        } catch (InterruptedException | RuntimeException e) {
            talk.close();
            throw e;
        }
    }

    /** A command that reads while it writes. One thread reads; others may write meanwhile, and wait until it is read. */
    public final class Talk implements AutoCloseable {
        private final BlockingClientCall<Input, Output> call =
                ClientCalls.blockingBidiStreamingCall(channel, AgentGrpc.getTalkMethod(), CallOptions.DEFAULT);
        private final ReentrantLock writing = new ReentrantLock();

        private void begin(CommandRequest request) throws InterruptedException {
            try {
                call.write(Input.newBuilder().setRequest(request).build());
                if (call.read(patience.toMillis(), TimeUnit.MILLISECONDS) == null) {
                    throw new ApiException(Kind.UNANSWERED, "it ended without an answer", null);
                }
            } catch (TimeoutException e) {
                throw unanswered(e);
            } catch (StatusException e) {
                throw failure(e, false);
            }
        }

        /** What comes next; the last one is the exit status. */
        public Output next() throws InterruptedException {
            try {
                Output piece = call.read();
                if (piece == null) {
                    throw new ApiException(Kind.LOST, "it ended without an exit status", null);
                }
                return piece;
            } catch (StatusException e) {
                throw failure(e, true);
            }
        }

        /** False when nobody reads it any more; {@link #next} says why. */
        public boolean write(Input piece) throws InterruptedException {
            writing.lockInterruptibly();
            try {
                return call.write(piece);
            } catch (StatusException e) {
                return false;
            } finally {
                writing.unlock();
            }
        }

        /** Ends the command, if it has not ended. */
        @Override
        public void close() {
            call.cancel("no longer wanted", null);
        }
    }

    private ApiException unanswered(TimeoutException e) {
        return new ApiException(
                Kind.UNANSWERED, "no answer on " + socket + " within " + patience.toSeconds() + " s", e);
    }

    private static void refuseToBeMisunderstood(CommandRequest request) {
        ImmutableSortedSet<String> ignored = KnownFields.ignoredByFormer(request);
        if (!ignored.isEmpty()) {
            throw new ApiException(
                    Kind.REFUSED,
                    "it is of a former version, and may ignore " + String.join(", ", ignored)
                            + "; restart the agent, or ask without",
                    null);
        }
    }

    private ApiException failure(StatusException e, boolean heard) {
        Status status = e.getStatus();
        String words = status.getDescription() == null ? status.getCode().name() : status.getDescription();
        Code code = status.getCode();
        Kind kind = switch (code) {
            case UNIMPLEMENTED -> Kind.UNKNOWN_CALL;
            case UNAVAILABLE -> heard ? Kind.LOST : Kind.UNANSWERED;
            // A server that has waited long enough for its answers cancels them.
            case CANCELLED -> heard ? Kind.LOST : Kind.REFUSED;
            default -> Kind.REFUSED;
        };
        Throwable cause = status.getCause();
        return new ApiException(
                kind, words + (cause == null || cause.getMessage() == null ? "" : ": " + cause.getMessage()), e);
    }

    @Override
    public void close() {
        channel.shutdownNow();
        transport.close();
    }
}
