package io.homeostat.desired.fleet;

import com.google.common.collect.ImmutableSortedMap;
import java.time.Instant;

/**
 * What is known of a machine also while it is silent. A machine writes it anew only when its labels change: when the key was
 * modified last tells since when it is a member of rollouts by them.
 *
 * @param labels of agent.yaml, with the facts of the host that placement goes by
 * @param at when the machine came, or got these labels, by its own clock: for people
 */
public record MachineRegistration(ImmutableSortedMap<String, String> labels, Instant at) {}
