/**
 * {@code homeostat guest}: the agent in a virtual machine, for whoever speaks the protocol of Kata's agent. What it is asked for is declared
 * in an agent of ours, and containers run through an OCI runtime.
 */
@NullMarked
package io.homeostat.reconcile.agent.guest;

import org.jspecify.annotations.NullMarked;
