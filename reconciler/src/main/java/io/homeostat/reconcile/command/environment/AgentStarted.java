package io.homeostat.reconcile.command.environment;

/** An agent has begun to listen that was not there when a command began to work on its state directory: it is to be asked. */
public final class AgentStarted extends RuntimeException {
    private static final long serialVersionUID = 1L;
}
