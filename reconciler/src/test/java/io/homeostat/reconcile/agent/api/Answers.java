package io.homeostat.reconcile.agent.api;

import io.homeostat.proto.agent.ApplyRequest;
import io.homeostat.proto.agent.DeleteRequest;
import io.homeostat.proto.agent.EventsRequest;
import io.homeostat.proto.agent.InspectRequest;
import io.homeostat.proto.agent.LogsRequest;
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
import java.io.IOException;

/** Answers every call in the same way. */
record Answers(Answer answer) implements ApiHandler {
    interface Answer {
        int give(ApiOutput output) throws IOException, InterruptedException;
    }

    @Override
    public int status(StatusRequest request, ApiOutput output) throws InterruptedException {
        return give(output);
    }

    @Override
    public int plan(PlanRequest request, ApiOutput output) throws InterruptedException {
        return give(output);
    }

    @Override
    public int apply(ApplyRequest request, ApiOutput output) throws InterruptedException {
        return give(output);
    }

    @Override
    public int delete(DeleteRequest request, ApiOutput output) throws InterruptedException {
        return give(output);
    }

    @Override
    public int pause(PauseRequest request, ApiOutput output) throws InterruptedException {
        return give(output);
    }

    @Override
    public int resume(ResumeRequest request, ApiOutput output) throws InterruptedException {
        return give(output);
    }

    @Override
    public int events(EventsRequest request, ApiOutput output) throws InterruptedException {
        return give(output);
    }

    @Override
    public int logs(LogsRequest request, ApiOutput output) throws InterruptedException {
        return give(output);
    }

    @Override
    public int stop(StopRequest request, ApiOutput output) throws InterruptedException {
        return give(output);
    }

    @Override
    public int start(StartRequest request, ApiOutput output) throws InterruptedException {
        return give(output);
    }

    @Override
    public int reset(ResetRequest request, ApiOutput output) throws InterruptedException {
        return give(output);
    }

    @Override
    public int verify(VerifyRequest request, ApiOutput output) throws InterruptedException {
        return give(output);
    }

    @Override
    public int states(StatesRequest request, ApiOutput output) throws InterruptedException {
        return give(output);
    }

    @Override
    public int vmEvent(VmEventRequest request, ApiOutput output) throws InterruptedException {
        return give(output);
    }

    @Override
    public int watch(WatchRequest request, ApiOutput output) throws InterruptedException {
        return give(output);
    }

    @Override
    public int inspect(InspectRequest request, ApiOutput output) throws InterruptedException {
        return give(output);
    }

    private int give(ApiOutput output) throws InterruptedException {
        try {
            return answer.give(output);
        } catch (IOException e) {
            // As a PrintStream does.
            return 1;
        }
    }
}
