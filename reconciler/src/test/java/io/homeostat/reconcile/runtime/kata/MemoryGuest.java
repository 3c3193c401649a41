package io.homeostat.reconcile.runtime.kata;

import com.google.common.util.concurrent.Uninterruptibles;
import com.google.protobuf.Message;
import io.grpc.ForwardingServerCallListener.SimpleForwardingServerCallListener;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.ServerInterceptors;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import io.homeostat.desired.model.guest.GuestEndpoint;
import io.homeostat.observe.guest.UnreachableGuest;
import io.homeostat.observe.guest.UnreachableGuest.Reason;
import io.homeostat.observe.ttrpc.TtrpcServer;
import io.homeostat.observe.ttrpc.Wire;
import io.homeostat.proto.kata.CheckRequest;
import io.homeostat.proto.kata.HealthCheckResponse;
import io.homeostat.proto.kata.HealthGrpc.HealthImplBase;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * A guest without a machine: its agent is served over ttRPC in this JVM, by connections in memory. A test says what goes wrong, and reads
 * what the agent was asked.
 */
final class MemoryGuest implements AutoCloseable {
    /** What happens to a call in place of an answer of the agent. */
    private sealed interface Fault {
        /** The agent refuses it, and does nothing; DEADLINE_EXCEEDED is what a caller hears that was not answered in time. */
        record Refused(Status status) implements Fault {}

        /** The agent agrees, and does nothing. */
        record Ignored(Message answer) implements Fault {}

        /** The connections break. */
        record Lost() implements Fault {}
    }

    /** A call that has arrived. */
    private record Called(String method, Message request) {}

    private final MemoryAgent agent = new MemoryAgent();
    private final Map<String, Fault> faults = new ConcurrentHashMap<>();
    private final Map<String, Runnable> hooks = new ConcurrentHashMap<>();
    private final List<Called> calls = new CopyOnWriteArrayList<>();
    private final List<MemoryWire.Pair> connections = new CopyOnWriteArrayList<>();
    private final List<MemoryWire> logs = new CopyOnWriteArrayList<>();
    private final BlockingQueue<MemoryWire> arriving = new LinkedBlockingQueue<>();
    private final AtomicReference<@Nullable UnreachableGuest> unreachable = new AtomicReference<>();
    private final AtomicReference<@Nullable AssertionError> failedHook = new AtomicReference<>();
    private final ScheduledThreadPoolExecutor timer = new ScheduledThreadPoolExecutor(1);
    private final TtrpcServer server;

    MemoryGuest() {
        server = new TtrpcServer(
                new Acceptor(),
                timer,
                List.of(
                        ServerInterceptors.intercept(agent.bindService(), new Faults()),
                        ServerInterceptors.intercept(new Health().bindService(), new Faults())));
        server.start();
    }

    private final class Acceptor implements TtrpcServer.Acceptor {
        private volatile @Nullable Thread waiting;
        private volatile boolean closed;

        @Override
        public Wire accept() throws IOException {
            waiting = Thread.currentThread();
            try {
                if (closed) {
                    throw new IOException("closed");
                }
                return arriving.take();
            } catch (InterruptedException e) {
                throw new IOException("closed", e);
            }
        }

        @Override
        public void close() {
            closed = true;
            Thread thread = waiting;
            if (thread != null) {
                thread.interrupt();
            }
        }
    }

    private static final class Health extends HealthImplBase {
        @Override
        public void check(CheckRequest request, StreamObserver<HealthCheckResponse> answers) {
            answers.onNext(HealthCheckResponse.getDefaultInstance());
            answers.onCompleted();
        }
    }

    private final class Faults implements ServerInterceptor {
        @Override
        public <Q, A> ServerCall.Listener<Q> interceptCall(
                ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
            String method = String.valueOf(call.getMethodDescriptor().getBareMethodName());
            Fault fault = faults.get(method);
            if (fault == null) {
                return new SimpleForwardingServerCallListener<>(next.startCall(call, headers)) {
                    @Override
                    public void onMessage(Q request) {
                        arrived(method, (Message) request);
                        super.onMessage(request);
                    }
                };
            }
            call.request(1);
            return new ServerCall.Listener<>() {
                @Override
                public void onMessage(Q request) {
                    arrived(method, (Message) request);
                }

                @Override
                @SuppressWarnings("unchecked")
                public void onHalfClose() {
                    switch (fault) {
                        case Fault.Refused(Status status) -> call.close(status, new Metadata());
                        case Fault.Ignored(Message answer) -> {
                            call.sendHeaders(new Metadata());
                            call.sendMessage((A) answer);
                            call.close(Status.OK, new Metadata());
                        }
                        case Fault.Lost() -> breakConnections();
                    }
                }
            };
        }
    }

    private void arrived(String method, Message request) {
        calls.add(new Called(method, request));
        Runnable hook = hooks.remove(method);
        if (hook != null) {
            try {
                hook.run();
            } catch (AssertionError e) {
                boolean _ = failedHook.compareAndSet(null, e);
            }
        }
    }

    /** Connects to its agent, or to the port at which that logs, as a dialer does. */
    Wire dial(GuestEndpoint endpoint) throws UnreachableGuest {
        UnreachableGuest why = unreachable.get();
        if (why != null) {
            throw why;
        }
        MemoryWire.Pair pair = MemoryWire.pair();
        if (endpoint.withPort(GuestEndpoint.LOG_PORT).equals(Optional.of(endpoint))) {
            logs.add(pair.server());
            return pair.client();
        }
        connections.add(pair);
        arriving.add(pair.server());
        return pair.client();
    }

    MemoryAgent agent() {
        return agent;
    }

    /** Has the agent refuse a method. */
    void refuse(String method, Status status) {
        faults.put(method, new Fault.Refused(status));
    }

    void refuse(String method, Status status, String words) {
        refuse(method, status.withDescription(words));
    }

    /** Has a method not be answered in time. */
    void silence(String method) {
        refuse(method, Status.DEADLINE_EXCEEDED);
    }

    /** Has a method break the connections it is called over. */
    void lose(String method) {
        faults.put(method, new Fault.Lost());
    }

    /** Has the agent say yes to a method and do nothing. */
    void ignore(String method, Message answer) {
        faults.put(method, new Fault.Ignored(answer));
    }

    /** Has a method be answered as usual again. */
    void heal(String method) {
        faults.remove(method);
    }

    /** Runs an action when a method is called next, before it is carried out. What it asserts fails the test at the end. */
    void atNext(String method, Runnable action) {
        hooks.put(method, action);
    }

    /** A call that is not answered before this is closed. */
    interface Held extends AutoCloseable {
        @Override
        void close();
    }

    /** Holds the answer to the next call of a method, so that its caller has to wait. */
    Held holdNext(String method) {
        CountDownLatch released = new CountDownLatch(1);
        atNext(method, () -> Uninterruptibles.awaitUninterruptibly(released));
        return released::countDown;
    }

    /** Breaks all connections; each that is made anew works. */
    void breakConnections() {
        List<MemoryWire.Pair> broken = List.copyOf(connections);
        connections.removeAll(broken);
        // All at once: who has noticed the end of one goes on over the others.
        broken.forEach(pair -> pair.client().close());
        broken.forEach(MemoryWire.Pair::hangUp);
    }

    /** Breaks all connections, and refuses new ones. */
    void vanish(Reason reason) {
        unreachable.set(new UnreachableGuest(reason, "guest: " + reason, null));
        breakConnections();
    }

    /** Takes connections again. */
    void listen() {
        unreachable.set(null);
    }

    /** The connections over which somebody reads what its agent logs, the newest last. */
    List<MemoryWire> logs() {
        return logs;
    }

    /** Writes to the newest of them. */
    void printLog(String text) throws IOException {
        int _ = logs.getLast().write(ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8)));
    }

    /** The methods that were called, in their order. */
    List<String> methods() {
        return calls.stream().map(Called::method).toList();
    }

    /** The methods that were called and are among these, in their order. */
    List<String> methods(String... wanted) {
        return methods().stream().filter(List.of(wanted)::contains).toList();
    }

    int count(String method) {
        return methods(method).size();
    }

    /** The requests of one type, in their order. */
    <Q extends Message> List<Q> requests(Class<Q> type) {
        return calls.stream()
                .map(Called::request)
                .filter(type::isInstance)
                .map(type::cast)
                .toList();
    }

    @Override
    public void close() {
        server.close();
        connections.forEach(pair -> pair.client().close());
        logs.forEach(MemoryWire::close);
        timer.shutdownNow();
        AssertionError failed = failedHook.get();
        if (failed != null) {
            throw failed;
        }
    }
}
