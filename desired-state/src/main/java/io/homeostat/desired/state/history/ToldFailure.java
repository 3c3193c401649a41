package io.homeostat.desired.state.history;

import io.homeostat.desired.state.EventType;

/** A failure that an event has told of; it is told again only when it is another one, or when something has gone well meanwhile. */
public record ToldFailure(EventType type, String revision, FailureCause cause) {}
