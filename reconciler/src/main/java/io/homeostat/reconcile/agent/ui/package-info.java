/** A page for browsers on this machine: what commands say, over HTTP on loopback. */
@NullMarked
package io.homeostat.reconcile.agent.ui;

import org.jspecify.annotations.NullMarked;
