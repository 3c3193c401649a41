package io.homeostat.reconcile.cli;

import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.reconcile.adhoc.VmEvent;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** What is asked for now, of what runs now; as the plugin manager of Google's guest agent does it for others on the machine. */
sealed interface Operation extends Request {
    /**
     * What was typed.
     *
     * @throws UsageException when it makes no sense
     */
    static Operation of(Verb verb, Arguments arguments) {
        return switch (verb) {
            case VM_EVENT -> new VmEventTold(event(arguments.word().orElse("")));
            case WATCH ->
                new Watch(
                        plugin(arguments.workload()),
                        arguments.request().orElse(null),
                        arguments.code(),
                        arguments.timeout(ApplyCommand.DEFAULT_TIMEOUT));
            default -> throw new IllegalStateException(verb.word() + " is no operation");
        };
    }

    /**
     * The event of that word.
     *
     * @throws UsageException when there is none
     */
    static VmEvent event(String word) {
        return VmEvent.ofWord(word)
                .orElseThrow(() -> new UsageException("'" + OneLine.of(word) + "' is none of " + VmEvent.words()));
    }

    /**
     * A workload that is a plugin.
     *
     * @throws UsageException when it is of another kind
     */
    static WorkloadId plugin(WorkloadId id) {
        if (id.kind() != Kind.PLUGIN) {
            throw new UsageException(id + " is no plugin; write plugin/NAME, such as plugin/ops-agent");
        }
        return id;
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
}
