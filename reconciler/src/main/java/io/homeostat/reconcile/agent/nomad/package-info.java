/** {@code homeostat nomad-driver}: a task driver for a Nomad client whose tasks a Homeostat agent enforces. */
@NullMarked
package io.homeostat.reconcile.agent.nomad;

import org.jspecify.annotations.NullMarked;
