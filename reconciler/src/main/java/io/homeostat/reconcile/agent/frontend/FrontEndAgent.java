package io.homeostat.reconcile.agent.frontend;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.reconcile.command.Command;
import io.homeostat.reconcile.command.environment.CommandFailure;
import java.util.List;
import java.util.function.Predicate;

/** An agent as a front end uses it: it declares workloads there and observes them. */
public interface FrontEndAgent {
    /** The directories of the agent. */
    Layout layout();

    /**
     * Declares a workload. Repeating the same declaration changes nothing.
     *
     * @param origin identifies the declaration in the source of the front end
     * @throws CommandFailure when the agent rejects the document or does not answer
     */
    void declare(String origin, String document) throws InterruptedException;

    /**
     * Withdraws a workload, and returns when nothing of it is left.
     *
     * @throws CommandFailure when the agent does not answer, or something is left after a minute
     */
    void withdraw(WorkloadId workload) throws InterruptedException;

    /**
     * Returns the present state of a workload.
     *
     * @throws CommandFailure when the agent does not answer
     */
    WorkloadLook look(WorkloadId workload) throws InterruptedException;

    /**
     * Reports the present state of workloads and each change of it, until the thread is interrupted, the agent ends or the reader has
     * enough.
     *
     * @param goesOn receives a state, and returns whether the reader wants more
     * @throws CommandFailure when the agent does not answer
     */
    void follow(ImmutableList<WorkloadId> workloads, Predicate<WorkloadLook> goesOn) throws InterruptedException;

    /**
     * Returns the workloads whose origins equal this one up to the last slash.
     *
     * @throws CommandFailure when the agent does not answer
     */
    List<WorkloadLook> former(String origin) throws InterruptedException;

    /**
     * Ends the pause of a stop that nobody will finish.
     *
     * @throws CommandFailure when the agent does not answer
     */
    void resume(String origin, WorkloadId workload) throws InterruptedException;

    /**
     * Runs a command whose output nobody needs.
     *
     * @throws CommandFailure when the command fails or the agent does not answer
     */
    void run(Command command) throws InterruptedException;
}
