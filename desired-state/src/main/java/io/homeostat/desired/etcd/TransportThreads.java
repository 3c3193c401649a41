package io.homeostat.desired.etcd;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ClientStreamTracer;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.homeostat.desired.platform.ProcessEnd;
import io.netty.util.concurrent.EventExecutor;
import io.netty.util.concurrent.EventExecutorGroup;
import io.netty.util.internal.ThreadExecutorMap;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/**
 * The threads that wait for the network for jetcd, which takes those of gRPC. All channels of a process share them, and they outlive the last
 * one by a second. A JVM that ends meanwhile waits 0.3 s for threads that wait in the kernel, so they are ended before. Nobody hands them out:
 * calls tell in which they were sent.
 */
final class TransportThreads implements ClientInterceptor {
    private static final TransportThreads SHARED = new TransportThreads();

    static {
        ProcessEnd.ofThis().leave(SHARED::end);
    }

    private final Set<EventExecutorGroup> seen = ConcurrentHashMap.newKeySet();

    /** Those of this process, which are ended with it. */
    static TransportThreads shared() {
        return SHARED;
    }

    @Override
    public <Q, A> ClientCall<Q, A> interceptCall(MethodDescriptor<Q, A> method, CallOptions options, Channel next) {
        return next.newCall(method, options.withStreamTracerFactory(new Factory()));
    }

    /** Ends them, whoever still uses them. */
    void end() {
        for (EventExecutorGroup group : seen) {
            group.shutdownGracefully(0, 1, TimeUnit.SECONDS).awaitUninterruptibly(1, TimeUnit.SECONDS);
        }
    }

    private final class Factory extends ClientStreamTracer.Factory {
        @Override
        public ClientStreamTracer newClientStreamTracer(ClientStreamTracer.StreamInfo info, Metadata headers) {
            return new ClientStreamTracer() {
                @Override
                public void outboundHeaders() {
                    EventExecutor here = ThreadExecutorMap.currentExecutor();
                    if (here != null) {
                        seen.add(here.parent());
                    }
                }
            };
        }
    }
}
