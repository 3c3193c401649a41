package io.homeostat.desired.state.history;

import java.time.Instant;

/**
 * A declaration that was tried as an upgrade and undone.
 *
 * @param hash of the declaration
 * @param times how often it has been tried and undone
 * @param error why it failed the last time
 */
public record FailedRevision(String hash, String revision, int times, Instant at, String error) {}
