/** What servers for other programs need of an agent: they declare what they are asked for, and it enforces that. */
@NullMarked
package io.homeostat.reconcile.agent.frontend;

import org.jspecify.annotations.NullMarked;
