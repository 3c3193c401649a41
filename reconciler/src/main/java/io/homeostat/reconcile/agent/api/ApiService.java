package io.homeostat.reconcile.agent.api;

import io.grpc.Status;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import io.homeostat.proto.agent.AgentGrpc.AgentImplBase;
import io.homeostat.proto.agent.ApplyRequest;
import io.homeostat.proto.agent.DeleteRequest;
import io.homeostat.proto.agent.EventsRequest;
import io.homeostat.proto.agent.InspectRequest;
import io.homeostat.proto.agent.LogsRequest;
import io.homeostat.proto.agent.Output;
import io.homeostat.proto.agent.PauseRequest;
import io.homeostat.proto.agent.PlanRequest;
import io.homeostat.proto.agent.ResetRequest;
import io.homeostat.proto.agent.ResumeRequest;
import io.homeostat.proto.agent.StartRequest;
import io.homeostat.proto.agent.StatesRequest;
import io.homeostat.proto.agent.StatusRequest;
import io.homeostat.proto.agent.StopRequest;
import io.homeostat.proto.agent.VerifyRequest;
import io.homeostat.proto.agent.VmEventRequest;
import io.homeostat.proto.agent.WatchRequest;
import java.time.Duration;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Gives each call a thread of its own, as many as may be answered at once. */
final class ApiService extends AgentImplBase implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(ApiService.class);

    private static final Status ENDING = Status.UNAVAILABLE.withDescription("the agent is ending");
    private static final Duration PATIENCE = Duration.ofSeconds(5);

    private final ApiHandler handler;
    private final int limit;
    private final Semaphore places;
    private final ExecutorService threads = Executors.newThreadPerTaskExecutor(
            Thread.ofVirtual().name("api-", 1).factory());

    /** @param limit how many calls are answered at once */
    ApiService(ApiHandler handler, int limit) {
        this.handler = handler;
        this.limit = limit;
        this.places = new Semaphore(limit);
    }

    @Override
    public void status(StatusRequest request, StreamObserver<Output> stream) {
        answer(stream, output -> handler.status(request, output));
    }

    @Override
    public void plan(PlanRequest request, StreamObserver<Output> stream) {
        answer(stream, output -> handler.plan(request, output));
    }

    @Override
    public void apply(ApplyRequest request, StreamObserver<Output> stream) {
        answer(stream, output -> handler.apply(request, output));
    }

    @Override
    public void delete(DeleteRequest request, StreamObserver<Output> stream) {
        answer(stream, output -> handler.delete(request, output));
    }

    @Override
    public void pause(PauseRequest request, StreamObserver<Output> stream) {
        answer(stream, output -> handler.pause(request, output));
    }

    @Override
    public void resume(ResumeRequest request, StreamObserver<Output> stream) {
        answer(stream, output -> handler.resume(request, output));
    }

    @Override
    public void events(EventsRequest request, StreamObserver<Output> stream) {
        answer(stream, output -> handler.events(request, output));
    }

    @Override
    public void logs(LogsRequest request, StreamObserver<Output> stream) {
        answer(stream, output -> handler.logs(request, output));
    }

    @Override
    public void stop(StopRequest request, StreamObserver<Output> stream) {
        answer(stream, output -> handler.stop(request, output));
    }

    @Override
    public void start(StartRequest request, StreamObserver<Output> stream) {
        answer(stream, output -> handler.start(request, output));
    }

    @Override
    public void reset(ResetRequest request, StreamObserver<Output> stream) {
        answer(stream, output -> handler.reset(request, output));
    }

    @Override
    public void verify(VerifyRequest request, StreamObserver<Output> stream) {
        answer(stream, output -> handler.verify(request, output));
    }

    @Override
    public void states(StatesRequest request, StreamObserver<Output> stream) {
        answer(stream, output -> handler.states(request, output));
    }

    @Override
    public void vmEvent(VmEventRequest request, StreamObserver<Output> stream) {
        answer(stream, output -> handler.vmEvent(request, output));
    }

    @Override
    public void watch(WatchRequest request, StreamObserver<Output> stream) {
        answer(stream, output -> handler.watch(request, output));
    }

    @Override
    public void inspect(InspectRequest request, StreamObserver<Output> stream) {
        answer(stream, output -> handler.inspect(request, output));
    }

    private void answer(StreamObserver<Output> observer, Answer answer) {
        ServerCallStreamObserver<Output> stream = (ServerCallStreamObserver<Output>) observer;
        if (!places.tryAcquire()) {
            stream.onError(Status.RESOURCE_EXHAUSTED
                    .withDescription(limit + " calls are being answered, and no more are at once; try again later")
                    .asRuntimeException());
            return;
        }
        ApiOutput output = new ApiOutput(stream);
        // gRPC takes them only before this method returns.
        stream.setOnReadyHandler(output::ready);
        stream.setOnCancelHandler(output::cancelled);
        try {
            threads.execute(() -> run(answer, output));
        } catch (RejectedExecutionException e) {
            places.release();
            output.fail(ENDING);
        }
    }

    private void run(Answer answer, ApiOutput output) {
        try {
            if (output.begin(Thread.currentThread())) {
                output.end(answer.give(output));
            }
        } catch (InterruptedException e) {
            // The caller has gone, and hears nothing of this, or the server is closing.
            output.fail(ENDING);
        } catch (RuntimeException e) {
            log.error("a call of the local API failed", e);
            output.fail(Status.INTERNAL.withDescription("a defect of the agent; its log says where it happened"));
        } finally {
            places.release();
        }
    }

    /** Interrupts what is being answered and waits a moment for it to end. */
    @Override
    public void close() {
        threads.shutdownNow();
        try {
            if (!threads.awaitTermination(PATIENCE.toMillis(), TimeUnit.MILLISECONDS)) {
                log.warn("calls of the local API did not end within {} s and are left behind", PATIENCE.toSeconds());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @FunctionalInterface
    private interface Answer {
        int give(ApiOutput output) throws InterruptedException;
    }
}
