package io.homeostat.reconcile.agent.api;

import io.homeostat.proto.agent.CommandRequest;
import java.io.IOException;

/** Answers every call in the same way. */
record Answers(Answer answer) implements ApiServer.Handler {
    interface Answer {
        int give(ApiOutput output) throws IOException, InterruptedException;
    }

    @Override
    public int run(CommandRequest request, ApiOutput output) throws InterruptedException {
        try {
            return answer.give(output);
        } catch (IOException e) {
            // As a PrintStream does.
            return 1;
        }
    }
}
