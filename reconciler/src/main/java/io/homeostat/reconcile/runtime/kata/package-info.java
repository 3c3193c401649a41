/** Sandboxes: virtual machines whose Kata guest agent is told what to do, call by call, and keeps nothing that we need. */
@NullMarked
package io.homeostat.reconcile.runtime.kata;

import org.jspecify.annotations.NullMarked;
