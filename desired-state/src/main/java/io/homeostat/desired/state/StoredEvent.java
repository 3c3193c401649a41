package io.homeostat.desired.state;

/** An event with its place in the sequence; ids grow by the order in which events were stored. */
public record StoredEvent(long id, Event event) {}
