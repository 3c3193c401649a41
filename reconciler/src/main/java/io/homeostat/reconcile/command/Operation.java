package io.homeostat.reconcile.command;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.reconcile.command.output.OneLine;
import io.homeostat.reconcile.command.plugin.ResetCommand;
import io.homeostat.reconcile.command.plugin.StatesCommand;
import io.homeostat.reconcile.command.plugin.VmEvent;
import io.homeostat.reconcile.command.plugin.VmEventCommand;
import io.homeostat.reconcile.command.plugin.WatchCommand;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** What is asked for now, of what runs now; as the plugin manager of Google's guest agent does it for others on the machine. */
public sealed interface Operation extends Request {
    /**
     * The event of that word.
     *
     * @throws UsageException when there is none
     */
    static VmEvent event(String word) {
        return VmEvent.ofWord(word)
                .orElseThrow(() -> new UsageException("'" + OneLine.of(word) + "' is none of " + VmEvent.words()));
    }

    /** To tell plugins of an event. */
    record VmEventTold(VmEvent event) implements Operation {
        @Override
        public Verb verb() {
            return Verb.VM_EVENT;
        }

        @Override
        public Command on(Workspace workspace) {
            return new VmEventCommand(workspace, event);
        }

        @Override
        public boolean onlyLooks() {
            return false;
        }
    }

    /**
     * To wait for an answer of a plugin.
     *
     * @param request what it is asked for; null: its health
     * @param code of the answer that is waited for
     * @param timeout how long
     */
    record Watch(WorkloadId plugin, @Nullable String request, int code, Duration timeout) implements Operation {
        @Override
        public Verb verb() {
            return Verb.WATCH;
        }

        @Override
        public Command on(Workspace workspace) {
            return new WatchCommand(workspace, this);
        }
    }

    /**
     * To stop workloads and leave them so.
     *
     * @param reason for people; may be empty
     * @param timeout how long to wait
     */
    record Stop(ImmutableList<WorkloadId> workloads, String reason, Duration timeout) implements Operation {
        @Override
        public Verb verb() {
            return Verb.STOP;
        }

        @Override
        public Command on(Workspace workspace) {
            return new StopCommand(workspace, this);
        }

        @Override
        public boolean onlyLooks() {
            return false;
        }
    }

    /**
     * To start what was stopped.
     *
     * @param reason for people; may be empty
     * @param timeout how long to wait
     */
    record Start(ImmutableList<WorkloadId> workloads, String reason, Duration timeout) implements Operation {
        @Override
        public Verb verb() {
            return Verb.START;
        }

        @Override
        public Command on(Workspace workspace) {
            return new StartCommand(workspace, this);
        }

        @Override
        public boolean onlyLooks() {
            return false;
        }
    }

    /**
     * To remove all dynamic plugins.
     *
     * @param yes whether it is meant
     * @param timeout how long to wait until they are gone
     */
    record Reset(boolean yes, Duration timeout) implements Operation {
        @Override
        public Verb verb() {
            return Verb.RESET;
        }

        @Override
        public Command on(Workspace workspace) {
            return new ResetCommand(workspace, yes, timeout);
        }

        @Override
        public boolean onlyLooks() {
            return false;
        }
    }

    /** Whether a workload runs at a revision. */
    record Verify(WorkloadId workload, String revision) implements Operation {
        @Override
        public Verb verb() {
            return Verb.VERIFY;
        }

        @Override
        public Command on(Workspace workspace) {
            return new VerifyCommand(workspace, workload, revision);
        }
    }

    /** How plugins are, in the words of the control plane. */
    record States() implements Operation {
        @Override
        public Verb verb() {
            return Verb.STATES;
        }

        @Override
        public Command on(Workspace workspace) {
            return new StatesCommand(workspace);
        }
    }
}
