package io.homeostat.reconcile.agent.api;

import io.grpc.Server;
import io.grpc.Status;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import io.homeostat.desired.platform.VirtualThreads;
import io.homeostat.proto.agent.AgentGrpc.AgentImplBase;
import io.homeostat.proto.agent.CommandRequest;
import io.homeostat.proto.agent.Input;
import io.homeostat.proto.agent.Output;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.nio.file.attribute.UserPrincipal;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Serves the local API on a unix socket, for root and the user it runs as, see agent.proto. A caller who is slow, gone, wrong or
 * many costs bounded memory and delays nobody else.
 */
public final class ApiServer implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(ApiServer.class);
    private static final int CONNECTIONS = 256;
    private static final int CALLS = 64;

    /** Runs commands. */
    @FunctionalInterface
    public interface Handler {
        /**
         * Runs a command, on a thread that is interrupted when the caller goes away or the server closes. An exception ends the call as a
         * defect.
         *
         * @param request for any command; nothing in it has been checked
         * @return the exit status
         */
        int run(CommandRequest request, ApiOutput output) throws InterruptedException;

        /** The same for a caller who types. */
        default int run(CommandRequest request, ApiInput input, ApiOutput output) throws InterruptedException {
            return run(request, output);
        }
    }

    private final Path socket;
    private final Server server;
    private final Service service;
    private final LocalTransport transport;

    private ApiServer(Path socket, Server server, Service service, LocalTransport transport) {
        this.socket = socket;
        this.server = server;
        this.service = service;
        this.transport = transport;
    }

    /**
     * Listens until it is closed. A socket that a dead process left behind is replaced.
     *
     * @param socket its directory exists, and nobody else can write to it
     * @throws ApiException when somebody listens there already, or it is not possible
     */
    public static ApiServer start(Path socket, Handler handler) {
        return start(socket, handler, LocalTransport.rootAndThisUser());
    }

    static ApiServer start(Path socket, Handler handler, Predicate<UserPrincipal> allowed) {
        SocketFile file = new SocketFile(socket);
        file.checkLength();
        file.makeRoom();
        LocalTransport transport = new LocalTransport();
        Service service = new Service(handler, CALLS);
        try {
            Server server = transport
                    .server(socket, new LocalTransport.PeerGuard(allowed, CONNECTIONS), service)
                    .start();
            Files.setPosixFilePermissions(socket, PosixFilePermissions.fromString("rw-------"));
            return new ApiServer(socket, server, service, transport);
        } catch (IOException e) {
            service.close();
            transport.close();
            Throwable cause = e.getCause() == null ? e : e.getCause();
            throw new ApiException(
                    ApiException.Kind.NOT_SERVED, "cannot listen on " + socket + ": " + cause.getMessage(), e);
        }
    }

    /** Ends what is being answered, and removes the socket. */
    @Override
    public void close() {
        try {
            Files.deleteIfExists(socket);
        } catch (IOException e) {
            log.warn("the socket {} could not be removed; the next agent replaces it: {}", socket, e.getMessage());
        }
        server.shutdown();
        service.close();
        try {
            // So that whoever asked hears why it ended, and not just that the connection did.
            if (!server.awaitTermination(1, TimeUnit.SECONDS)) {
                server.shutdownNow();
                server.awaitTermination(1, TimeUnit.SECONDS);
            }
        } catch (InterruptedException e) {
            server.shutdownNow();
            Thread.currentThread().interrupt();
        }
        transport.close();
    }

    /** Gives each call a thread of its own, as many as may be answered at once. */
    private static final class Service extends AgentImplBase implements AutoCloseable {

        private static final Status ENDING = Status.UNAVAILABLE.withDescription("the agent is ending");
        private static final Duration PATIENCE = Duration.ofSeconds(5);

        private final Handler handler;
        private final int limit;
        private final Semaphore places;
        private final ExecutorService threads = Executors.newThreadPerTaskExecutor(VirtualThreads.factory("api-"));

        /** @param limit how many calls are answered at once */
        Service(Handler handler, int limit) {
            this.handler = handler;
            this.limit = limit;
            this.places = new Semaphore(limit);
        }

        @Override
        public void run(CommandRequest request, StreamObserver<Output> observer) {
            ServerCallStreamObserver<Output> stream = (ServerCallStreamObserver<Output>) observer;
            ApiOutput output = new ApiOutput(stream);
            // gRPC takes them only before this method returns.
            stream.setOnReadyHandler(output::ready);
            stream.setOnCancelHandler(output::cancelled);
            begin(request, ApiInput.none(), output);
        }

        @Override
        public StreamObserver<Input> talk(StreamObserver<Output> observer) {
            ServerCallStreamObserver<Output> stream = (ServerCallStreamObserver<Output>) observer;
            stream.disableAutoRequest();
            ApiOutput output = new ApiOutput(stream);
            ApiInput input = new ApiInput(() -> stream.request(1));
            stream.setOnReadyHandler(output::ready);
            stream.setOnCancelHandler(() -> {
                output.cancelled();
                input.gone();
            });
            stream.request(1);
            return new StreamObserver<>() {
                private boolean begun;

                @Override
                public void onNext(Input piece) {
                    if (begun) {
                        input.hear(piece);
                    } else if (piece.hasRequest()) {
                        begun = true;
                        stream.request(1);
                        begin(piece.getRequest(), input, output);
                    } else {
                        output.fail(Status.INVALID_ARGUMENT.withDescription("the first piece is not the request"));
                    }
                }

                @Override
                public void onError(Throwable problem) {
                    input.gone();
                }

                @Override
                public void onCompleted() {
                    if (begun) {
                        input.end();
                    } else {
                        output.fail(Status.INVALID_ARGUMENT.withDescription("nothing was asked for"));
                    }
                }
            };
        }

        private void begin(CommandRequest request, ApiInput input, ApiOutput output) {
            if (request.getCommandCase() == CommandRequest.CommandCase.COMMAND_NOT_SET) {
                output.fail(Status.UNIMPLEMENTED.withDescription("the agent knows no such command"));
                return;
            }
            Optional<String> unknown = KnownFields.unknown(request);
            if (unknown.isPresent()) {
                output.fail(Status.FAILED_PRECONDITION.withDescription(
                        "it is of another version than what asks, and does not know all that was asked for ("
                                + unknown.get() + "); restart the agent, so that both are of the same version"));
                return;
            }
            if (!places.tryAcquire()) {
                output.fail(Status.RESOURCE_EXHAUSTED.withDescription(
                        limit + " calls are being answered, and no more are at once; try again later"));
                return;
            }
            try {
                threads.execute(() -> answer(request, input, output));
            } catch (RejectedExecutionException e) {
                places.release();
                output.fail(ENDING);
            }
        }

        private void answer(CommandRequest request, ApiInput input, ApiOutput output) {
            try {
                if (output.begin(Thread.currentThread())) {
                    output.end(handler.run(request, input, output));
                }
            } catch (InterruptedException e) {
                // The caller has gone, and hears nothing of this, or the server is closing.
                output.fail(ENDING);
            } catch (RuntimeException e) {
                log.error("a call of the local API failed", e);
                output.fail(Status.INTERNAL.withDescription("a defect of the agent; its log says where it happened"));
            } finally {
                input.gone();
                places.release();
            }
        }

        /** Interrupts what is being answered and waits a moment for it to end. */
        @Override
        public void close() {
            threads.shutdownNow();
            try {
                if (!threads.awaitTermination(PATIENCE.toMillis(), TimeUnit.MILLISECONDS)) {
                    log.warn(
                            "calls of the local API did not end within {} s and are left behind", PATIENCE.toSeconds());
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
