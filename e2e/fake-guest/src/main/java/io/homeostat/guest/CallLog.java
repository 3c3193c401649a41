package io.homeostat.guest;

import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;

/** The calls that an agent has received, by the names of their methods, in the order in which they came. */
public final class CallLog implements ServerInterceptor {
    private static final String BOOT = "(boot)";

    private final List<String> methods = new CopyOnWriteArrayList<>();

    /** When the latest call of each method came, by System.nanoTime. */
    private final Map<String, Long> latest = new ConcurrentHashMap<>();

    /** All of them so far. */
    public List<String> methods() {
        return List.copyOf(methods);
    }

    /** How often a method was called. */
    public long count(String method) {
        return methods.stream().filter(method::equals).count();
    }

    /** When a method was called last, by System.nanoTime; of one that was. */
    public long latest(String method) {
        return Objects.requireNonNull(latest.get(method), method);
    }

    /** How often a method was called in the boot in which it was called most often. */
    public long mostInOneBoot(String method) {
        long most = 0;
        long inThis = 0;
        for (String called : methods) {
            inThis = called.equals(BOOT) ? 0 : inThis + (called.equals(method) ? 1 : 0);
            most = Math.max(most, inThis);
        }
        return most;
    }

    void booted() {
        methods.add(BOOT);
    }

    @Override
    public <Q, A> ServerCall.Listener<Q> interceptCall(
            ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
        String method = String.valueOf(call.getMethodDescriptor().getBareMethodName());
        latest.put(method, System.nanoTime());
        methods.add(method);
        return next.startCall(call, headers);
    }
}
