package io.homeostat.reconcile.cli;

import io.homeostat.desired.store.StateStore;
import java.time.Duration;
import java.util.function.Consumer;

/** Changes what is declared, and brings the machine to it: alone under the state directory's lock, or inside the agent that runs there. */
@FunctionalInterface
interface Enforcer {
    /**
     * Changes what is declared and waits until the machine is as declared, or can't become so now.
     *
     * @param workspace says what is done on its console
     * @param timeout how long to wait
     * @param declare changes what is declared; nothing is done to the machine when it throws
     * @return the exit status
     */
    int enforce(Workspace workspace, Verb verb, Duration timeout, Consumer<StateStore> declare)
            throws InterruptedException;
}
