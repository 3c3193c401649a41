package io.homeostat.observe.ttrpc;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.util.concurrent.MoreExecutors;
import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.Context;
import io.grpc.Contexts;
import io.grpc.Deadline;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.homeostat.desired.platform.BoundedMessages;
import io.homeostat.desired.platform.TokenBucket;
import io.homeostat.proto.ttrpc.Response;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Calls over one connection, for the stubs that gRPC generates. When it breaks, each call fails with UNAVAILABLE and this is of no more use.
 *
 * <p>ttRPC can't cancel: what is given up here, also by a deadline, is carried out over there all the same, and its answer is ignored.
 */
public final class TtrpcChannel extends Channel implements AutoCloseable {
    /**
     * Whether the server is told the deadline of a call. It then gives up half way, so this is for calls that change nothing.
     */
    public static final CallOptions.Key<Boolean> TELL_DEADLINE =
            CallOptions.Key.createWithDefault("homeostat.ttrpc.tell-deadline", false);

    private static final Logger LOG = LoggerFactory.getLogger(TtrpcChannel.class);

    /** The largest odd number of 32 bits. */
    private static final int LAST_STREAM = -1;

    private final String authority;
    private final ScheduledExecutorService timer;
    private final FrameConnection connection;
    private final Map<Integer, Call<?, ?>> calls = new ConcurrentHashMap<>();
    private final Expiries expiries = new Expiries();
    private final Object order = new Object();
    private int nextStream;
    private boolean exhausted;

    private static final int SPARE_FRAMES = 1_000;
    private static final double SPARE_FRAMES_PER_SECOND = 100;

    /** So much of a frame counts as a frame. */
    private static final int SPARE_BYTES = 4 << 10;

    /**
     * Bytes of an answer, unless the caller allows another number. Many calls may wait for one, and each is kept until its call ends; one that
     * consists of the smallest parts takes 30 times as much once it is read.
     */
    static final int LONGEST_ANSWER = 512 << 10;

    private final Ticker ticker = Ticker.systemTicker();

    /** Null as long as it is open. Written once, before all calls of then are ended. */
    private volatile @Nullable Status end;

    /**
     * @param connection to a server; closed with this
     * @param authority what it is to, for people
     * @param timer for deadlines; not closed. Once it is shut down, calls that have a deadline fail
     */
    public TtrpcChannel(Wire connection, String authority, ScheduledExecutorService timer) {
        this(connection, authority, timer, 1);
    }

    TtrpcChannel(Wire connection, String authority, ScheduledExecutorService timer, int firstStream) {
        this.authority = authority;
        this.timer = timer;
        this.nextStream = firstStream;
        this.connection = new FrameConnection(connection, "ttrpc " + authority, new Answers());
        this.connection.start();
    }

    @Override
    public <Q, A> ClientCall<Q, A> newCall(MethodDescriptor<Q, A> method, CallOptions options) {
        return new Call<>(BoundedMessages.bounded(method), options);
    }

    @Override
    public String authority() {
        return authority;
    }

    /** Whether calls may succeed. */
    public boolean isOpen() {
        return end == null;
    }

    /** All calls that are under way fail. */
    @Override
    public void close() {
        connection.close();
    }

    private final class Answers implements FrameConnection.Receiver {
        /** For frames that no call needs, such as answers to what was given up. Only the thread that reads takes from it. */
        private final TokenBucket spare =
                new TokenBucket(SPARE_FRAMES, TimeUnit.SECONDS.toNanos(1) / SPARE_FRAMES_PER_SECOND, ticker.read());

        @Override
        public void received(Frame frame) throws IOException {
            Call<?, ?> call = calls.get(frame.stream());
            if (call == null || !call.received(frame)) {
                unneeded(frame.payload().size());
            }
        }

        /** Counts a frame that no call needs: without a bound a guest could keep a processor busy. */
        private void unneeded(int bytes) throws IOException {
            // One long answer to what was given up is no flood.
            if (spare.available(ticker.read()) <= 0) {
                throw new IOException("it sends too much that no call needs");
            }
            spare.take(1 + bytes / SPARE_BYTES);
        }

        @Override
        public void tooLong(int stream, int length) throws IOException {
            Call<?, ?> call = calls.get(stream);
            if (call == null) {
                unneeded(length);
            } else {
                call.finish(Status.RESOURCE_EXHAUSTED.withDescription(Frame.tooLong("the answer", length)));
            }
        }

        @Override
        public void drained() {
            calls.values().forEach(Call::ready);
        }

        @Override
        public void ended(IOException reason) {
            Status status = lost(reason);
            end = status;
            calls.values().forEach(call -> call.finish(status));
        }

        private Status lost(IOException reason) {
            return Status.UNAVAILABLE
                    .withDescription("the connection to " + authority + " is lost: " + reason.getMessage())
                    .withCause(reason);
        }
    }

    /**
     * When calls expire. The timer is only set for the first of them, and again when that moment has come: most calls are answered long
     * before, and to set it for each would wake a thread each time.
     */
    private final class Expiries {
        private final Map<Call<?, ?>, Deadline> deadlines = new ConcurrentHashMap<>();

        /** Null while the timer is not set. */
        private @Nullable Deadline next;

        void add(Call<?, ?> call, Deadline deadline) {
            deadlines.put(call, deadline);
            set(deadline);
        }

        void remove(Call<?, ?> call) {
            deadlines.remove(call);
        }

        private synchronized void set(Deadline deadline) {
            if (next == null || deadline.isBefore(next)) {
                Future<?> _ = deadline.runOnExpiration(() -> expire(deadline), timer);
                next = deadline;
            }
        }

        private void expire(Deadline reached) {
            synchronized (this) {
                // An earlier one may have been set since, and this one be on its way.
                if (reached.equals(next)) {
                    next = null;
                }
            }
            deadlines.forEach((call, deadline) -> {
                if (deadline.isExpired()) {
                    deadlines.remove(call);
                    call.expire();
                } else {
                    set(deadline);
                }
            });
        }
    }

    private final class Call<Q, A> extends ClientCall<Q, A> implements Context.CancellationListener {
        private final MethodDescriptor<Q, A> method;
        private final CallOptions options;
        private final Executor executor;
        private final Context context = Context.current();
        private final Inbound inbound = new Inbound();
        private final List<FrameConnection.Outgoing> sent = new ArrayList<>();

        private @Nullable Listener<A> listener;
        private Metadata headers = new Metadata();
        private @Nullable ByteString message;
        private @Nullable Deadline deadline;
        private int stream;
        /** Null as long as an answer may come. */
        private @Nullable Status result;

        Call(MethodDescriptor<Q, A> method, CallOptions options) {
            this.method = method;
            this.options = options;
            Executor given = options.getExecutor();
            this.executor = MoreExecutors.newSequentialExecutor(
                    given == null ? command -> Thread.startVirtualThread(command) : given);
        }

        private boolean isUnary() {
            return method.getType() == MethodType.UNARY;
        }

        /** Whether what is asked is all in the request. */
        private boolean asksOnce() {
            return method.getType().clientSendsOneMessage();
        }

        @Override
        public void start(Listener<A> responses, Metadata metadata) {
            synchronized (this) {
                listener = responses;
                headers = metadata;
                deadline = earlier(options.getDeadline(), context.getDeadline());
            }
            if (deadline != null) {
                if (deadline.isExpired()) {
                    finish(Status.DEADLINE_EXCEEDED.withDescription("its time was over before it began"));
                    return;
                }
                try {
                    expiries.add(this, deadline);
                } catch (RejectedExecutionException e) {
                    // Whoever owns the timer is about to close this too.
                    finish(Status.UNAVAILABLE
                            .withDescription("calls to " + authority + " are no longer made")
                            .withCause(e));
                    return;
                }
            }
            context.addListener(this, MoreExecutors.directExecutor());
            if (!asksOnce()) {
                open(Frame.REMOTE_OPEN, ByteString.EMPTY);
                ready();
            }
        }

        private static @Nullable Deadline earlier(@Nullable Deadline one, @Nullable Deadline other) {
            if (one == null || other == null) {
                return one == null ? other : one;
            }
            return one.minimum(other);
        }

        void expire() {
            finish(Status.DEADLINE_EXCEEDED.withDescription(method.getBareMethodName() + " was not answered in time"));
        }

        @Override
        public void request(int count) {
            inbound.request(count);
            deliver();
        }

        @Override
        public void sendMessage(Q question) {
            ByteString bytes = Envelopes.message(question);
            if (asksOnce()) {
                synchronized (this) {
                    message = bytes;
                }
            } else {
                send(bytes.size(), () -> Frame.data(stream, bytes));
            }
        }

        @Override
        public void halfClose() {
            if (asksOnce()) {
                ByteString payload;
                synchronized (this) {
                    payload = message == null ? ByteString.EMPTY : message;
                    message = null;
                }
                open(isUnary() ? 0 : Frame.REMOTE_CLOSED, payload);
            } else {
                send(0, () -> Frame.endOfData(stream));
            }
        }

        private void open(byte flags, ByteString payload) {
            ByteString request = Envelopes.request(method, payload, timeout(), headers);
            if (request.size() > Frame.LONGEST) {
                finish(tooLong(request.size()));
                return;
            }
            boolean none;
            // Servers may refuse a stream with a smaller number than one before it.
            synchronized (order) {
                none = exhausted;
                synchronized (this) {
                    if (!none && result == null) {
                        stream = nextStream;
                        exhausted = stream == LAST_STREAM;
                        nextStream += 2;
                        calls.put(stream, this);
                        sent.add(connection.put(Frame.request(stream, flags, request)));
                    }
                }
            }
            if (none) {
                finish(Status.UNAVAILABLE.withDescription(
                        "the connection to " + authority + " has had all the calls that it can; connect again"));
                return;
            }
            connection.flush();
            Status over = end;
            if (over != null) {
                finish(over);
            }
        }

        private long timeout() {
            Deadline expires = deadline;
            return expires == null || !options.getOption(TELL_DEADLINE)
                    ? 0
                    : Math.max(1, expires.timeRemaining(TimeUnit.NANOSECONDS));
        }

        private void send(int length, Supplier<Frame> frame) {
            if (length > Frame.LONGEST) {
                finish(tooLong(length));
                return;
            }
            synchronized (this) {
                if (result == null) {
                    sent.removeIf(FrameConnection.Outgoing::isOver);
                    sent.add(connection.put(frame.get()));
                }
            }
            connection.flush();
        }

        private static Status tooLong(int length) {
            return Status.RESOURCE_EXHAUSTED.withDescription(Frame.tooLong("the message", length));
        }

        @Override
        public boolean isReady() {
            return !connection.isCrowded();
        }

        private void ready() {
            if (!asksOnce()) {
                execute(() -> responses().onReady());
            }
        }

        private Listener<A> responses() {
            Listener<A> known = listener;
            if (known == null) {
                throw new IllegalStateException("the call was not started");
            }
            return known;
        }

        /** Returns whether the call needed it. */
        private boolean received(Frame frame) {
            switch (frame.type()) {
                case Frame.RESPONSE -> answered(frame.payload());
                case Frame.DATA -> {
                    // A single answer comes with the status; what came before would be kept until then.
                    if (method.getType().serverSendsOneMessage()
                            || (frame.has(Frame.NO_DATA) && !frame.has(Frame.REMOTE_CLOSED))) {
                        return false;
                    }
                    if (!frame.has(Frame.NO_DATA)) {
                        add(frame.payload());
                    }
                    if (frame.has(Frame.REMOTE_CLOSED)) {
                        finish(Status.OK);
                    }
                }
                default -> {
                    // Of a later version, and ignored as others do.
                    return false;
                }
            }
            return true;
        }

        private void answered(ByteString payload) {
            Response response;
            try {
                response = BoundedMessages.parse(Response.getDefaultInstance(), payload);
            } catch (InvalidProtocolBufferException e) {
                finish(unreadable(e));
                return;
            }
            Status status = Envelopes.status(response);
            // A stream of answers has ended with its data; only one that has a single answer has it here.
            if (status.isOk() && method.getType().serverSendsOneMessage()) {
                add(response.getPayload());
            }
            finish(status);
        }

        private Status unreadable(Exception e) {
            return Status.INTERNAL
                    .withDescription("the answer of " + authority + " to " + method.getBareMethodName()
                            + " can't be read: " + e.getMessage())
                    .withCause(e);
        }

        private void add(ByteString answer) {
            Integer allowed = options.getMaxInboundMessageSize();
            int most = allowed == null ? LONGEST_ANSWER : allowed;
            if (answer.size() > most) {
                finish(Status.RESOURCE_EXHAUSTED.withDescription(
                        "the answer has " + answer.size() + " bytes, of which " + most + " are allowed"));
            } else if (inbound.add(answer)) {
                deliver();
            } else {
                finish(Status.RESOURCE_EXHAUSTED.withDescription(
                        "answers came faster than they were taken, and too many wait"));
            }
        }

        @Override
        public void cancelled(Context cancelled) {
            finish(Contexts.statusFromCancelled(cancelled));
        }

        @Override
        public void cancel(@Nullable String why, @Nullable Throwable cause) {
            finish(Status.CANCELLED.withDescription(why).withCause(cause));
        }

        /** The first who says how it ended is right. */
        private void finish(Status status) {
            synchronized (this) {
                if (result != null) {
                    return;
                }
                result = status;
                if (stream != 0) {
                    calls.remove(stream);
                }
                if (!status.isOk()) {
                    inbound.discard();
                    // An answer has come, or nobody waits for it; either way the rest is not needed.
                    sent.forEach(FrameConnection.Outgoing::drop);
                }
                sent.clear();
                inbound.end();
            }
            expiries.remove(this);
            context.removeListener(this);
            deliver();
        }

        private void deliver() {
            execute(() -> inbound.deliver(new Inbound.Taker() {
                @Override
                public void message(ByteString bytes) {
                    A answer;
                    try {
                        answer = method.parseResponse(bytes.newInput());
                    } catch (StatusRuntimeException e) {
                        failed(unreadable(e));
                        return;
                    }
                    try {
                        responses().onMessage(answer);
                    } catch (StatusRuntimeException e) {
                        // Whoever called says so of an answer too many.
                        failed(e.getStatus());
                    }
                }

                @Override
                public void end() {
                    responses().onClose(result(), new Metadata());
                }
            }));
        }

        private synchronized Status result() {
            return result == null ? Status.UNKNOWN : result;
        }

        /** Also where success was already known. */
        private void failed(Status status) {
            synchronized (this) {
                if (result != null && result.isOk()) {
                    result = status;
                }
            }
            finish(status);
        }

        private void execute(Runnable task) {
            try {
                executor.execute(() -> {
                    Context before = context.attach();
                    try {
                        task.run();
                    } finally {
                        context.detach(before);
                    }
                });
            } catch (RejectedExecutionException e) {
                // Whoever called does not want to hear any more.
                LOG.debug("{} {}: {}", authority, method.getFullMethodName(), e.toString());
            }
        }
    }
}
