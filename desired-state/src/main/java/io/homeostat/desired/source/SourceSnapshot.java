package io.homeostat.desired.source;

import io.homeostat.desired.state.StateStore.SourceContent;
import java.time.Duration;
import java.util.Optional;

/**
 * What a source says now.
 *
 * @param lookAgain when to read it again, hint or not: something of it is too young to be believed
 */
public record SourceSnapshot(SourceContent content, Optional<Duration> lookAgain) {}
