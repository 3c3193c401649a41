package io.homeostat.desired.platform;

import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;

/** Finds the socket that a path leads to. One thread has all connections and must not wait for a file system, so it is told the outcome. */
@FunctionalInterface
public interface SocketFinder {
    /** A finder for paths that no other user has a say in: they are followed while the connection is made. */
    SocketFinder DIRECT = (socket, rule) -> CompletableFuture.completedFuture(
            new Found(socket, server -> rule.look().objection(server), () -> {}));

    /**
     * Finds a socket; returns at once.
     *
     * @param rule looked at once the socket is found
     */
    CompletableFuture<Found> find(Path socket, ServerRule rule);

    /**
     * A socket that was found.
     *
     * @param path leads to it, until it is released
     * @param release called once the connection is made, or can't be
     */
    record Found(Path path, ServerRule.Judge judge, Runnable release) {}
}
