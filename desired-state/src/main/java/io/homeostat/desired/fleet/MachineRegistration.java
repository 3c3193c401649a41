package io.homeostat.desired.fleet;

import com.google.common.collect.ImmutableSortedMap;
import java.time.Instant;

/**
 * What is known of a machine also while it is silent. A machine that changes its labels writes it anew; the key's creation stays.
 *
 * @param labels of agent.yaml, with the facts of the host that placement goes by
 * @param at when the machine came, by its own clock: for people
 */
public record MachineRegistration(ImmutableSortedMap<String, String> labels, Instant at) {}
