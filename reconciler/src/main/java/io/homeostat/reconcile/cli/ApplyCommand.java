package io.homeostat.reconcile.cli;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.store.StateStore.ToApply;
import io.homeostat.desired.yaml.ReadResult;
import java.time.Duration;

/** Stores documents as desired state and brings the machine to it. */
final class ApplyCommand implements Command {
    static final Duration DEFAULT_TIMEOUT = Duration.ofMinutes(2);

    private final Workspace workspace;
    private final Inputs inputs;
    private final boolean prune;
    private final Duration timeout;

    ApplyCommand(Workspace workspace, Inputs inputs, boolean prune, Duration timeout) {
        this.workspace = workspace;
        this.inputs = inputs;
        this.prune = prune;
        this.timeout = timeout;
    }

    @Override
    public int run() throws InterruptedException {
        inputs.checkPrune(prune);
        ReadResult read = inputs.read();
        Problems.print(read, workspace.console().err());
        if (!read.valid()) {
            workspace
                    .console()
                    .say("apply: " + Problems.count(read) + ", so nothing was stored or changed; correct the files");
            return ExitStatus.FAILED;
        }
        ImmutableList<ToApply> documents = inputs.toApply(read);
        return workspace.enforcer().enforce(workspace, Verb.APPLY, timeout, store -> {
            store.apply(documents, inputs.origins(), prune);
            // Whoever applies has usually removed the cause of a failure, and waits in front of the screen.
            store.retryNow(documents.stream()
                    .map(document -> document.workload().id())
                    .collect(ImmutableList.toImmutableList()));
        });
    }
}
