package io.homeostat.observe.ttrpc;

import com.google.common.util.concurrent.MoreExecutors;
import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import io.grpc.Context;
import io.grpc.Context.CancellableContext;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.ServerCall;
import io.grpc.ServerMethodDefinition;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.StatusRuntimeException;
import io.homeostat.desired.platform.BoundedMessages;
import io.homeostat.proto.ttrpc.Request;
import java.io.Closeable;
import java.io.IOException;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Serves services of gRPC over ttRPC. Each call has a virtual thread, so that one that hangs keeps nobody waiting; those of a client that
 * is gone are cancelled.
 */
public final class TtrpcServer implements AutoCloseable {
    /** Where clients come from. */
    public interface Acceptor extends Closeable {
        /**
         * Waits for the next one.
         *
         * @throws IOException also when this is closed meanwhile
         */
        Wire accept() throws IOException;
    }

    /** Of one client at once; what is more is refused with RESOURCE_EXHAUSTED. */
    static final int MOST_CALLS = 1000;

    /** Clients at once; whoever comes then is turned away. */
    static final int MOST_CLIENTS = 64;

    /** Bytes of answers that one client has not read. */
    private static final long MOST_BACKLOG = 16 << 20;

    /** Bytes of requests whose calls are under way, of all clients; what is more is refused with RESOURCE_EXHAUSTED. */
    static final long MOST_REQUESTS = 32 << 20;

    private static final Logger LOG = LoggerFactory.getLogger(TtrpcServer.class);

    /** Milliseconds after which clients are accepted again when that has failed, as for want of descriptors. */
    private static final long PAUSE = 100;

    private final Acceptor acceptor;
    private final ScheduledExecutorService timer;
    private final Map<String, Map<String, ServerMethodDefinition<?, ?>>> services = new HashMap<>();
    private final Set<Client> clients = ConcurrentHashMap.newKeySet();
    private final AtomicLong requests = new AtomicLong();
    private final Thread thread;
    private volatile boolean closed;

    /**
     * @param acceptor closed with this
     * @param timer for the time that clients give, which should forget what is cancelled; not closed
     */
    public TtrpcServer(
            Acceptor acceptor, ScheduledExecutorService timer, Collection<ServerServiceDefinition> definitions) {
        this.acceptor = acceptor;
        this.timer = timer;
        for (ServerServiceDefinition service : definitions) {
            Map<String, ServerMethodDefinition<?, ?>> methods = new HashMap<>();
            for (ServerMethodDefinition<?, ?> method : service.getMethods()) {
                methods.put(method.getMethodDescriptor().getBareMethodName(), bounded(method));
            }
            services.put(service.getServiceDescriptor().getName(), methods);
        }
        this.thread = Thread.ofPlatform().daemon().name("ttrpc acceptor").unstarted(this::accept);
    }

    private static <Q, A> ServerMethodDefinition<Q, A> bounded(ServerMethodDefinition<Q, A> method) {
        return ServerMethodDefinition.create(
                BoundedMessages.bounded(method.getMethodDescriptor()), method.getServerCallHandler());
    }

    public void start() {
        thread.start();
    }

    /** Ends all connections, once the answers that were given are sent. What is under way is cancelled, not waited for. */
    @Override
    public void close() {
        closed = true;
        close(acceptor);
        clients.forEach(Client::close);
    }

    private void accept() {
        while (!closed) {
            try {
                greet(acceptor.accept());
            } catch (IOException e) {
                if (!closed) {
                    LOG.warn("no client can be accepted, which is tried again: {}", e.toString());
                    pause();
                }
            }
        }
    }

    private void greet(Wire channel) {
        if (clients.size() >= MOST_CLIENTS) {
            LOG.warn("a client is turned away, as {} are connected", MOST_CLIENTS);
            close(channel);
            return;
        }
        Client client = new Client(channel);
        clients.add(client);
        if (closed) {
            client.close();
        }
        client.connection.start();
    }

    private static void pause() {
        try {
            Thread.sleep(PAUSE);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static void close(Closeable closeable) {
        try {
            closeable.close();
        } catch (IOException e) {
            LOG.debug("could not be closed: {}", e.toString());
        }
    }

    private static Status invalid(String why) {
        return Status.INVALID_ARGUMENT.withDescription(why);
    }

    private final class Client implements FrameConnection.Receiver {
        private final Map<Integer, Call<?, ?>> calls = new ConcurrentHashMap<>();
        private final FrameConnection connection;

        Client(Wire channel) {
            connection = new FrameConnection(channel, "ttrpc client", this);
        }

        void close() {
            connection.closeOnceSent();
        }

        @Override
        public void received(Frame frame) {
            switch (frame.type()) {
                case Frame.REQUEST -> begin(frame);
                case Frame.DATA -> {
                    Call<?, ?> call = calls.get(frame.stream());
                    if (call == null) {
                        refuse(frame.stream(), invalid("no call is under way on this stream"));
                    } else {
                        call.received(frame);
                    }
                }
                default -> {
                    // Of a later version, and ignored as others do.
                }
            }
        }

        @Override
        public void tooLong(int stream, int length) {
            refuse(stream, invalid(Frame.tooLong("the message", length)));
        }

        @Override
        public void drained() {
            calls.values().forEach(Call::ready);
        }

        @Override
        public void ended(IOException reason) {
            clients.remove(this);
            calls.values().forEach(Call::abandon);
        }

        private void send(Frame frame) {
            connection.send(frame);
            if (connection.backlog() > MOST_BACKLOG) {
                LOG.warn("a client does not read its answers, so that its connection is closed");
                connection.close();
            }
        }

        private void refuse(int stream, Status status) {
            send(Frame.response(stream, Envelopes.failure(status)));
        }

        private void begin(Frame frame) {
            int stream = frame.stream();
            if ((stream & 1) == 0) {
                refuse(stream, invalid("stream id must be odd"));
                return;
            }
            try {
                begin(stream, frame.flags(), BoundedMessages.parse(Request.getDefaultInstance(), frame.payload()));
            } catch (InvalidProtocolBufferException e) {
                refuse(stream, invalid("the request can't be read: " + e.getMessage()));
            } catch (StatusException e) {
                refuse(stream, e.getStatus());
            }
        }

        private void begin(int stream, byte flags, Request request) throws StatusException {
            Map<String, ServerMethodDefinition<?, ?>> methods = services.get(request.getService());
            if (methods == null) {
                throw invalid(request.getService() + " service does not exist").asException();
            }
            ServerMethodDefinition<?, ?> method = methods.get(request.getMethod());
            if (method == null) {
                throw Status.UNIMPLEMENTED
                        .withDescription(request.getService() + " has no method " + request.getMethod())
                        .asException();
            }
            if (calls.size() >= MOST_CALLS) {
                throw Status.RESOURCE_EXHAUSTED
                        .withDescription(
                                MOST_CALLS + " calls are under way on this connection, which is all it may have")
                        .asException();
            }
            int size = request.getSerializedSize();
            Call<?, ?> call = new Call<>(this, stream, method, size);
            if (calls.containsKey(stream)) {
                throw invalid("a call is under way on this stream").asException();
            }
            if (requests.addAndGet(size) > MOST_REQUESTS) {
                requests.addAndGet(-size);
                throw Status.RESOURCE_EXHAUSTED
                        .withDescription("requests of " + (MOST_REQUESTS >> 20)
                                + " MiB are under way, which is all that is kept; ask again when some are answered")
                        .asException();
            }
            calls.put(stream, call);
            call.begin(request, flags);
            if (!connection.isOpen()) {
                call.abandon();
            }
        }
    }

    private final class Call<Q, A> extends ServerCall<Q, A> {
        private final Client client;
        private final int stream;
        private final ServerMethodDefinition<Q, A> definition;
        private final int size;
        private final Executor executor =
                MoreExecutors.newSequentialExecutor(command -> Thread.startVirtualThread(command));
        private final Inbound inbound = new Inbound();

        private CancellableContext context = Context.ROOT.withCancellation();
        private @Nullable Listener<Q> listener;
        private @Nullable Future<?> expiry;
        private @Nullable ByteString answer;
        private boolean over;
        private boolean cancelled;

        /** @param size bytes of its request, which count until it ends */
        Call(Client client, int stream, ServerMethodDefinition<Q, A> definition, int size) {
            this.client = client;
            this.stream = stream;
            this.definition = definition;
            this.size = size;
        }

        void begin(Request request, byte flags) {
            long timeout = request.getTimeoutNano();
            if (timeout > 0) {
                context = Context.ROOT.withDeadlineAfter(timeout, TimeUnit.NANOSECONDS, timer);
                expiry = timer.schedule(this::expire, timeout, TimeUnit.NANOSECONDS);
            }
            execute(() -> {
                Listener<Q> started =
                        definition.getServerCallHandler().startCall(this, Envelopes.headers(request.getMetadataList()));
                listener = started;
                started.onReady();
            });
            if (definition.getMethodDescriptor().getType().clientSendsOneMessage()) {
                // As it is the first, there is room for it.
                boolean _ = inbound.add(request.getPayload());
                inbound.end();
            } else if ((flags & Frame.REMOTE_OPEN) == 0) {
                inbound.end();
            }
            deliver();
        }

        void received(Frame frame) {
            if (inbound.isEnded()) {
                close(invalid("data after the end of data"), new Metadata());
                return;
            }
            if (!frame.has(Frame.NO_DATA) && !inbound.add(frame.payload())) {
                close(
                        Status.RESOURCE_EXHAUSTED.withDescription(
                                "messages came faster than they were taken, and too many wait"),
                        new Metadata());
                return;
            }
            if (frame.has(Frame.REMOTE_CLOSED)) {
                inbound.end();
            }
            deliver();
        }

        @Override
        public void request(int count) {
            inbound.request(count);
            deliver();
        }

        private void deliver() {
            execute(() -> {
                Listener<Q> to = listener;
                if (to == null || isOver()) {
                    return;
                }
                inbound.deliver(new Inbound.Taker() {
                    @Override
                    public void message(ByteString bytes) {
                        to.onMessage(definition.getMethodDescriptor().parseRequest(bytes.newInput()));
                    }

                    @Override
                    public void end() {
                        to.onHalfClose();
                    }
                });
            });
        }

        @Override
        public void sendHeaders(Metadata headers) {
            // ttRPC has none.
        }

        @Override
        public void sendMessage(A message) {
            ByteString bytes = Envelopes.message(message);
            if (definition.getMethodDescriptor().getType().serverSendsOneMessage()) {
                answer = bytes;
            } else if (bytes.size() > Frame.LONGEST) {
                close(tooLong(bytes.size()), new Metadata());
            } else {
                synchronized (this) {
                    if (!over) {
                        client.send(Frame.data(stream, bytes));
                    }
                }
            }
        }

        private static Status tooLong(int length) {
            return Status.RESOURCE_EXHAUSTED.withDescription(Frame.tooLong("the answer", length));
        }

        @Override
        public boolean isReady() {
            return !client.connection.isCrowded();
        }

        void ready() {
            MethodType type = definition.getMethodDescriptor().getType();
            if (!type.serverSendsOneMessage()) {
                execute(() -> {
                    Listener<Q> to = listener;
                    if (to != null && !isOver()) {
                        to.onReady();
                    }
                });
            }
        }

        @Override
        public void close(Status status, Metadata trailers) {
            if (end(false, last(status))) {
                context.cancel(null);
                execute(() -> {
                    Listener<Q> to = listener;
                    if (to != null) {
                        to.onComplete();
                    }
                });
            }
        }

        private Frame last(Status status) {
            if (!status.isOk()) {
                return Frame.response(stream, Envelopes.failure(status));
            }
            if (!definition.getMethodDescriptor().getType().serverSendsOneMessage()) {
                return Frame.endOfData(stream);
            }
            ByteString result = answer;
            if (result == null) {
                return Frame.response(
                        stream, Envelopes.failure(Status.INTERNAL.withDescription("it has ended without an answer")));
            }
            ByteString response = Envelopes.success(result);
            return Frame.response(
                    stream, response.size() > Frame.LONGEST ? Envelopes.failure(tooLong(response.size())) : response);
        }

        private void expire() {
            if (end(
                    true,
                    Frame.response(stream, Envelopes.failure(Status.DEADLINE_EXCEEDED.withDescription("timeout"))))) {
                cancel();
            }
        }

        /** Nobody waits for it any more. */
        void abandon() {
            if (end(true, null)) {
                cancel();
            }
        }

        private void cancel() {
            context.cancel(null);
            execute(() -> {
                Listener<Q> to = listener;
                if (to != null) {
                    to.onCancel();
                }
            });
        }

        /** False when it had ended before. */
        private boolean end(boolean cancels, @Nullable Frame last) {
            synchronized (this) {
                if (over) {
                    return false;
                }
                over = true;
                cancelled = cancels;
                client.calls.remove(stream);
                requests.addAndGet(-size);
                if (last != null) {
                    client.send(last);
                }
            }
            if (expiry != null) {
                expiry.cancel(false);
            }
            inbound.discard();
            return true;
        }

        private synchronized boolean isOver() {
            return over;
        }

        @Override
        public synchronized boolean isCancelled() {
            return cancelled;
        }

        @Override
        public MethodDescriptor<Q, A> getMethodDescriptor() {
            return definition.getMethodDescriptor();
        }

        private void execute(Runnable task) {
            executor.execute(() -> {
                Context before = context.attach();
                try {
                    task.run();
                } catch (StatusRuntimeException e) {
                    close(e.getStatus(), new Metadata());
                } catch (RuntimeException e) {
                    LOG.error("{} failed", definition.getMethodDescriptor().getFullMethodName(), e);
                    close(Status.UNKNOWN.withDescription("failed, see the log of the server"), new Metadata());
                } finally {
                    context.detach(before);
                }
            });
        }
    }
}
