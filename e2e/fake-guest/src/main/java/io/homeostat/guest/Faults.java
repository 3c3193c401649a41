package io.homeostat.guest;

import com.google.common.util.concurrent.Uninterruptibles;
import com.google.protobuf.Message;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.Status;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;

/** What goes wrong with calls, by the name of the method, until it is cleared. */
public final class Faults implements ServerInterceptor {
    private sealed interface Fault {
        /** Not answered, and not carried out either, until cleared; then as if it had just come. */
        record Hangs(CountDownLatch until) implements Fault {}

        record Late(Duration by) implements Fault {}

        record Refused(Status status) implements Fault {}

        record Ignored(Message answer) implements Fault {}
    }

    private final Map<String, Fault> faults = new ConcurrentHashMap<>();

    /** It is not answered. */
    public void hang(String method) {
        faults.put(method, new Fault.Hangs(new CountDownLatch(1)));
    }

    /** It is begun so much later. */
    public void delay(String method, Duration by) {
        faults.put(method, new Fault.Late(by));
    }

    /** It is answered with an error and not carried out. */
    public void refuse(String method, Status status) {
        faults.put(method, new Fault.Refused(status));
    }

    /** It is answered so, and not carried out. */
    public void ignore(String method, Message answer) {
        faults.put(method, new Fault.Ignored(answer));
    }

    /** All is well again, also for what hangs. */
    public void clear() {
        faults.keySet().forEach(method -> {
            if (faults.remove(method) instanceof Fault.Hangs(CountDownLatch until)) {
                until.countDown();
            }
        });
    }

    @Override
    public <Q, A> ServerCall.Listener<Q> interceptCall(
            ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
        switch (faults.get(String.valueOf(call.getMethodDescriptor().getBareMethodName()))) {
            case null -> {}
            case Fault.Hangs(CountDownLatch until) -> Uninterruptibles.awaitUninterruptibly(until);
            case Fault.Late(Duration by) -> Uninterruptibles.sleepUninterruptibly(by);
            case Fault.Refused(Status status) -> {
                call.close(status, new Metadata());
                return new ServerCall.Listener<>() {};
            }
            case Fault.Ignored(Message answer) -> {
                call.request(1);
                return new ServerCall.Listener<>() {
                    @Override
                    @SuppressWarnings("unchecked")
                    public void onHalfClose() {
                        call.sendHeaders(new Metadata());
                        call.sendMessage((A) answer);
                        call.close(Status.OK, new Metadata());
                    }
                };
            }
        }
        return next.startCall(call, headers);
    }
}
