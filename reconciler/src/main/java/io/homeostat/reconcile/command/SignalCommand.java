package io.homeostat.reconcile.command;

import com.google.common.base.Ascii;
import com.google.common.collect.ImmutableList;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.desired.model.SignalNames;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.Instance;
import io.homeostat.proto.agent.CommandRequest;
import io.homeostat.proto.agent.SignalRequest;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.environment.Environment;
import io.homeostat.reconcile.command.environment.ExitStatus;
import io.homeostat.reconcile.command.environment.UsageException;
import io.homeostat.reconcile.command.output.Console;
import io.homeostat.reconcile.command.output.Json;
import io.homeostat.reconcile.command.output.Text;
import io.homeostat.reconcile.loop.Turns;
import io.homeostat.reconcile.runtime.KindRuntime.Signalable;
import io.homeostat.reconcile.runtime.KindRuntime.Signalable.Sending;
import java.time.Duration;
import java.time.Instant;

/**
 * Sends a signal to what runs of a workload. It is told by an event before it is sent, so that whoever looks for the reason of an end finds
 * it first. Nothing that is declared changes.
 *
 * @param signal its full name
 * @param asker who wants it, for people
 */
public record SignalCommand(WorkloadId workload, String signal, String asker) implements Command {
    /** For what is being done to the workload just now. */
    private static final Duration PATIENCE = Duration.ofSeconds(10);

    private static final int LONGEST_ASKER = 100;

    /**
     * As typed.
     *
     * @throws UsageException when there is no such signal
     */
    public static SignalCommand of(WorkloadId workload, String word, String asker) {
        return new SignalCommand(
                workload,
                SignalNames.named(word)
                        .orElseThrow(() -> new UsageException("'" + Text.oneLine(word)
                                + "' is no signal; write its name or number, such as HUP, SIGHUP or 1")),
                asker);
    }

    /** Who types here, for people: the user, and whom sudo says it is. */
    public static String asker(Environment environment) {
        String user = environment.uid() == 0 ? "root" : "uid " + environment.uid();
        String sudo = environment.variable("SUDO_USER");
        return sudo.isEmpty() ? user : user + ", by sudo " + sudo;
    }

    /** As an agent is asked for it. */
    public static SignalCommand of(CommandRequest request) {
        SignalRequest signal = request.getSignal();
        return of(RequestFields.workload(signal.getWorkload()), signal.getSignal(), signal.getAsker());
    }

    @Override
    public void write(CommandRequest.Builder request) {
        request.setSignal(SignalRequest.newBuilder()
                .setWorkload(workload.toString())
                .setSignal(signal)
                .setAsker(asker));
    }

    @Override
    public boolean onlyLooks() {
        return false;
    }

    @Override
    public int run(Workspace workspace) throws InterruptedException {
        try (LiveInstance live = new LiveInstance(workspace, workload)) {
            Signalable kind = live.able(Signalable.class);
            Instance instance = live.instance();
            Sending sending = kind.prepareSignal(instance, signal);
            note(workspace, instance, signal + " is sent, as " + who() + " wants");
            try {
                workspace.enforcer().undisturbed(workspace, turns -> send(turns, sending));
            } catch (CommandFailure e) {
                note(workspace, instance, signal + " was not sent: " + e.getMessage());
                throw e;
            } catch (InterruptedException e) {
                note(workspace, instance, signal + " may not have been sent: interrupted");
                throw e;
            }
            tell(workspace.console());
            return ExitStatus.OK;
        } catch (ActuationFailure e) {
            throw new CommandFailure(String.valueOf(e.getMessage()), e);
        }
    }

    /** Not while it is being stopped or replaced. */
    private int send(Turns turns, Sending sending) throws InterruptedException {
        return turns.within(workload, PATIENCE, () -> {
                    try {
                        sending.send();
                        return ExitStatus.OK;
                    } catch (ActuationFailure e) {
                        throw new CommandFailure(String.valueOf(e.getMessage()), e);
                    }
                })
                .orElseThrow(() ->
                        new CommandFailure(workload + " is being started, changed or stopped just now; try again"));
    }

    private String who() {
        return asker.isBlank() ? "somebody" : Ascii.truncate(Text.oneLine(asker), LONGEST_ASKER, "...");
    }

    private void note(Workspace workspace, Instance instance, String words) throws InterruptedException {
        Instant now = workspace.environment().clock().instant();
        workspace
                .enforcer()
                .remember(
                        workspace,
                        ImmutableList.of(workload),
                        store -> store.record(
                                new Event(now, workload, instance.revision(), EventType.AGENT_SIGNALED, words)));
    }

    private void tell(Console console) {
        if (console.json()) {
            Json.print(
                    console.out(),
                    Json.versioned().put("workload", workload.toString()).put("signal", signal));
        } else {
            console.out().println(workload + "  " + signal + " sent");
        }
    }
}
