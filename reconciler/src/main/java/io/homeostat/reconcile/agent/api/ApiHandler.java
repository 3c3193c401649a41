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

/**
 * Answers calls. Each comes on a thread of its own, which is interrupted when the caller goes away or the server closes. What a
 * request holds was checked by nobody. A method returns the exit status; whatever it throws ends the call as a defect.
 */
public interface ApiHandler {
    int status(StatusRequest request, ApiOutput output) throws InterruptedException;

    int plan(PlanRequest request, ApiOutput output) throws InterruptedException;

    int apply(ApplyRequest request, ApiOutput output) throws InterruptedException;

    int delete(DeleteRequest request, ApiOutput output) throws InterruptedException;

    int pause(PauseRequest request, ApiOutput output) throws InterruptedException;

    int resume(ResumeRequest request, ApiOutput output) throws InterruptedException;

    int events(EventsRequest request, ApiOutput output) throws InterruptedException;

    int logs(LogsRequest request, ApiOutput output) throws InterruptedException;

    int stop(StopRequest request, ApiOutput output) throws InterruptedException;

    int start(StartRequest request, ApiOutput output) throws InterruptedException;

    int reset(ResetRequest request, ApiOutput output) throws InterruptedException;

    int verify(VerifyRequest request, ApiOutput output) throws InterruptedException;

    int states(StatesRequest request, ApiOutput output) throws InterruptedException;

    int vmEvent(VmEventRequest request, ApiOutput output) throws InterruptedException;

    int watch(WatchRequest request, ApiOutput output) throws InterruptedException;

    int inspect(InspectRequest request, ApiOutput output) throws InterruptedException;
}
