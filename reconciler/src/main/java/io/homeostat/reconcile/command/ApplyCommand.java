package io.homeostat.reconcile.command;

import io.homeostat.desired.source.StoredState;
import io.homeostat.proto.agent.ApplyRequest;
import io.homeostat.proto.agent.CommandRequest;
import io.homeostat.reconcile.command.environment.UsageException;
import io.homeostat.reconcile.command.output.SourceConflicts;
import java.time.Duration;

/** Stores documents as desired state, and waits up to {@code timeout} until the machine is there. */
public record ApplyCommand(DocumentTexts documents, Duration timeout) implements Command {
    /** In words that follow the number of errors. */
    public static final String CONSEQUENCE_OF_ERRORS = ", so nothing was stored or changed";

    public static ApplyCommand of(ApplyRequest request) {
        DocumentTexts documents = DocumentTexts.of(request.getDocuments());
        if (documents.isNone()) {
            throw new UsageException("origins: none, and at least one is needed");
        }
        return new ApplyCommand(documents, RequestFields.timeout(request.hasTimeout(), request.getTimeout()));
    }

    @Override
    public void write(CommandRequest.Builder request) {
        request.setApply(
                ApplyRequest.newBuilder().setDocuments(documents.request()).setTimeout(RequestFields.timeout(timeout)));
    }

    @Override
    public boolean onlyLooks() {
        return false;
    }

    @Override
    public int run(Workspace workspace) throws InterruptedException {
        DocumentSet valid =
                documents.parse(workspace.environment().documents(), workspace.console(), CONSEQUENCE_OF_ERRORS);
        return workspace.enforce(timeout, (store, notes) -> {
            store.apply(valid.documents(), valid.origins(), valid.prune());
            notes.addAll(SourceConflicts.overruled(valid.ids(), StoredState.desired(store.declarations())));
            // Whoever applies has usually removed the cause of a failure, and waits in front of the screen.
            store.retryNow(valid.ids());
        });
    }
}
